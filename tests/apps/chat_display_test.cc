// Thinking told from content, however the text is cut into pieces.
#include "apps/verbatim/chat_display.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

struct Parts {
  std::string thinking;
  std::string content;
  bool content_before_thinking = false;
  friend bool operator==(const Parts&, const Parts&) = default;
  friend void PrintTo(const Parts& parts, std::ostream* out) {
    *out << "thinking '" << parts.thinking << "', content '" << parts.content << "'";
  }
};

Parts Split(std::string_view text, bool open, size_t piece) {
  ThinkingSplitter splitter(open);
  Parts parts;
  const auto sink = [&](std::string_view part, bool thinking) -> Status {
    EXPECT_FALSE(part.empty());
    parts.content_before_thinking |= thinking && !parts.content.empty();
    (thinking ? parts.thinking : parts.content) += part;
    return {};
  };
  for (size_t i = 0; i < text.size(); i += piece) {
    EXPECT_TRUE(splitter.Push(text.substr(i, piece), sink).ok());
  }
  EXPECT_TRUE(splitter.Finish(sink).ok());
  return parts;
}

TEST(ThinkingSplitterTest, EveryCutGivesTheSameParts) {
  struct Case {
    const char* text;
    bool open;
    Parts expected;
  };
  const Case cases[] = {
      {"Hello.", false, {"", "Hello."}},
      {"  Hello.\n", false, {"", "  Hello.\n"}},
      {"<think>\nHm.\n\nSo.\n</think>\n\nYes.\n", false, {"Hm.\n\nSo.", "Yes.\n"}},
      {"\n<think>Hm.</think>Yes.", false, {"Hm.", "Yes."}},
      {"<think>\n\n</think>\n\nYes.", false, {"", "Yes."}},
      {"Hm.\n</think>\n\nYes.", true, {"Hm.", "Yes."}},
      {"\n</think>\n\nYes.", true, {"", "Yes."}},
      {"</think>Yes.", true, {"", "Yes."}},
      {"Hm, a < b and </thin", true, {"Hm, a < b and </thin", ""}},  // cut off inside
      {"Hm.\n\n", true, {"Hm.", ""}},
      {"<thin air>", false, {"", "<thin air>"}},
      {"<think", false, {"", "<think"}},
      {"I write <think> here.</think>", false, {"", "I write <think> here.</think>"}},
      {"<think>a</think>b</think>c", false, {"a", "b</think>c"}},
      {"", false, {"", ""}},
      {"\n\n", false, {"", "\n\n"}},
      {"\xE2\x80\xA6</think>\xC3\xA9", true, {"\xE2\x80\xA6", "\xC3\xA9"}},
  };
  for (const auto& [text, open, expected] : cases) {
    for (size_t piece = 1; piece <= 40; ++piece) {
      EXPECT_EQ(Split(text, open, piece), expected) << text << " in pieces of " << piece;
    }
  }
}

TEST(ThinkingSplitterTest, ContentIsPassedOnAtOnce) {
  ThinkingSplitter splitter(false);
  std::string seen;
  const auto sink = [&](std::string_view part, bool) -> Status {
    seen += part;
    return {};
  };
  ASSERT_TRUE(splitter.Push("Once", sink).ok());
  EXPECT_EQ(seen, "Once");
  ASSERT_TRUE(splitter.Push(" upon", sink).ok());
  EXPECT_EQ(seen, "Once upon");
}

TEST(ThinkingSplitterTest, PromptsThatOpenTheThinking) {
  EXPECT_TRUE(ThinkingSplitter::EndsInThinking("<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(ThinkingSplitter::EndsInThinking("<think>"));
  EXPECT_FALSE(ThinkingSplitter::EndsInThinking("<think>\n\n</think>\n\n"));
  EXPECT_FALSE(ThinkingSplitter::EndsInThinking("<|im_start|>assistant\n"));
  EXPECT_FALSE(ThinkingSplitter::EndsInThinking(""));
}

TEST(WithoutControlsTest, NoAnswerSteersTheTerminal) {
  EXPECT_EQ(WithoutControls("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(WithoutControls("\x1b[2J"), "\xEF\xBF\xBD[2J");
  EXPECT_EQ(WithoutControls("\r\x7f"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(WithoutControls("\xC2\x9B"
                            "2J"),
            "\xEF\xBF\xBD"
            "2J");  // CSI in one character
  EXPECT_EQ(WithoutControls("\xC2\xA0\xC3\xA9\xE2\x82\xAC"), "\xC2\xA0\xC3\xA9\xE2\x82\xAC");
}

}  // namespace
}  // namespace verbatim::cli
