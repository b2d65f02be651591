// Messages from lines, and the file of typed lines.
#include "apps/verbatim/chat_input.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/verbatim/chat_history.h"

namespace verbatim::cli {
namespace {

using Messages = std::vector<std::string>;

Messages Assemble(std::initializer_list<std::string_view> lines) {
  MessageAssembler assembler;
  Messages messages;
  for (const std::string_view line : lines) {
    if (auto message = assembler.Add(line)) messages.push_back(*message);
  }
  if (auto message = assembler.Finish()) messages.push_back(*message + "$");
  return messages;
}

TEST(MessageAssemblerTest, Lines) {
  EXPECT_EQ(Assemble({"one", "two"}), (Messages{"one", "two"}));
  EXPECT_EQ(Assemble({"one\\", "two\\", "three", "four"}), (Messages{"one\ntwo\nthree", "four"}));
  EXPECT_EQ(Assemble({"one\\"}), (Messages{"one$"}));
  EXPECT_EQ(Assemble({"\\", ""}), (Messages{"\n"}));
}

TEST(MessageAssemblerTest, Blocks) {
  EXPECT_EQ(Assemble({R"(""")", "one\\", "", "two", R"(""")", "three"}),
            (Messages{"one\\\n\ntwo", "three"}));
  EXPECT_EQ(Assemble({R"("""one)", R"(two""")"}), (Messages{"one\ntwo"}));
  EXPECT_EQ(Assemble({R"("""one""" )"}), (Messages{"one"}));
  EXPECT_EQ(Assemble({R"("""""")"}), (Messages{""}));
  EXPECT_EQ(Assemble({R"(a """ b)"}), (Messages{R"(a """ b)"}));
  EXPECT_EQ(Assemble({R"(""")", "never closed"}), Messages{});
}

TEST(MessageAssemblerTest, PastedLinesAreTextAsTheyAre) {
  EXPECT_EQ(Assemble({"one\ntwo", "three"}), (Messages{"one\ntwo", "three"}));
  EXPECT_EQ(Assemble({"\"\"\"Doc.\n\"\"\"", "three"}), (Messages{"\"\"\"Doc.\n\"\"\"", "three"}));
  EXPECT_EQ(Assemble({"one\ntwo\\", "three"}), (Messages{"one\ntwo\\", "three"}));
  // Inside what was begun by hand.
  EXPECT_EQ(Assemble({"one\\", "two\nthree\\", "four"}), (Messages{"one\ntwo\nthree\\", "four"}));
  EXPECT_EQ(Assemble({R"(""")", "one\n\ntwo", R"(""")"}), (Messages{"one\n\ntwo"}));
  EXPECT_EQ(Assemble({R"(""")", "one\ntwo\n\"\"\""}), (Messages{"one\ntwo"}));
}

TEST(MessageAssemblerTest, ClearDropsWhatWasBegun) {
  MessageAssembler assembler;
  assembler.Add(R"(""")");
  assembler.Add("one");
  EXPECT_TRUE(assembler.pending());
  assembler.Clear();
  EXPECT_FALSE(assembler.pending());
  EXPECT_EQ(assembler.Add("two"), "two");
}

TEST(HistoryPathTest, FollowsTheBaseDirectorySpecification) {
  const auto with = [](std::string state, std::string home) {
    return HistoryPath([=](const char* name) {
      return name == std::string("XDG_STATE_HOME") ? state
             : name == std::string("HOME")         ? home
                                                   : "";
    });
  };
  EXPECT_EQ(with("/state", "/home/x"), "/state/verbatim/history");
  EXPECT_EQ(with("", "/home/x"), "/home/x/.local/state/verbatim/history");
  EXPECT_EQ(with("relative", "/home/x"), "/home/x/.local/state/verbatim/history");
  EXPECT_EQ(with("", ""), "");
}

TEST(ChatHistoryTest, LinesAreKeptForTheirOwnerAndCutToTheLast) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       ("verbatim_history_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  const std::filesystem::path path = folder / "verbatim" / "history";
  const ChatHistory history(path);
  EXPECT_TRUE(history.Load()->empty());
  ASSERT_TRUE(history.Append("one").ok());
  ASSERT_TRUE(history.Append("zw\xC3\xB6lf").ok());
  EXPECT_EQ(*history.Load(), (Messages{"one", "zw\xC3\xB6lf"}));
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  for (size_t i = 2; i < 2 * ChatHistory::kMaxLines; ++i) {
    ASSERT_TRUE(history.Append(std::to_string(i)).ok());
  }
  const Messages lines = *history.Load();
  ASSERT_EQ(lines.size(), ChatHistory::kMaxLines);
  EXPECT_EQ(lines.back(), std::to_string(2 * ChatHistory::kMaxLines - 1));
  std::ifstream file(path);
  const auto count = std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  EXPECT_EQ(count, static_cast<long>(ChatHistory::kMaxLines));
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(ChatHistory("/proc/verbatim/history").Append("x").ok());
  EXPECT_TRUE(ChatHistory("").Append("x").ok());
  EXPECT_TRUE(ChatHistory("").Load()->empty());
}

TEST(ChatHistoryTest, LineBreaksInsideALineAreKept) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       ("verbatim_history_breaks_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / "history";
  // From before they could be: every line means itself.
  std::ofstream(path) << "C:\\new\\\n\\\\n\n";
  const Messages lines = {"C:\\new\\",   "\\\\n",           "one\ntwo", "\n",
                          "\\n\n\\\n\\", "\x1e mark first", "plain\\n", "\x1e\n\x1e"};
  const ChatHistory history(path);
  for (size_t i = 2; i < lines.size(); ++i) ASSERT_TRUE(history.Append(lines[i]).ok());
  EXPECT_EQ(*history.Load(), lines);
  std::ifstream file(path);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(file), {}, '\n'),
            static_cast<long>(lines.size()));
  // Also when the file is written anew.
  for (size_t i = 0; i < 2 * ChatHistory::kMaxLines; ++i) {
    ASSERT_TRUE(history.Append("a\n" + std::to_string(i)).ok());
  }
  const Messages cut = *history.Load();
  EXPECT_EQ(cut.back(), "a\n" + std::to_string(2 * ChatHistory::kMaxLines - 1));
  EXPECT_EQ(*history.Load(), cut);
  std::filesystem::remove_all(folder);
}

TEST(ChatHistoryTest, ATooLongLineIsNotStored) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) /
                                     ("verbatim_history_long_" + std::to_string(::getpid()));
  const ChatHistory history(path);
  const std::string longest(ChatHistory::kMaxLineBytes - 1, 'x');
  ASSERT_TRUE(history.Append(longest).ok());
  ASSERT_TRUE(history.Append(longest + "x").ok());
  ASSERT_TRUE(history.Append(longest.substr(2) + "\n").ok());  // longer as it would be stored
  EXPECT_EQ(*history.Load(), Messages{longest});
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace verbatim::cli
