// StopMatcher against a search of the whole text, for every cutting. Not stop tokens.
#include "text/stop_matcher.h"

#include "tests/text/text_test_support.h"

namespace verbatim {
namespace {

struct Outcome {
  std::string text;
  std::optional<size_t> matched;
  bool operator==(const Outcome&) const = default;
};

// The definition: the stop string that ends first, of those the longest; the text in front of it.
Outcome NaiveSearch(const std::vector<std::string>& stops, const std::string& text) {
  size_t best_end = std::string::npos;
  Outcome outcome{text, std::nullopt};
  for (size_t i = 0; i < stops.size(); ++i) {
    const size_t start = text.find(stops[i]);
    if (start == std::string::npos) continue;
    const size_t end = start + stops[i].size();
    if (end < best_end || (end == best_end && stops[i].size() > stops[*outcome.matched].size())) {
      best_end = end;
      outcome = {text.substr(0, start), i};
    }
  }
  return outcome;
}

Outcome Stream(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  auto matcher = StopMatcher::Create(stops);
  EXPECT_TRUE(matcher.ok());
  Outcome outcome;
  for (const std::string& piece : pieces) {
    const bool before = matcher->matched().has_value();
    const auto result = matcher->Append(piece);
    EXPECT_EQ(result.stopped, matcher->matched().has_value());
    EXPECT_TRUE(!before || result.text.empty());
    outcome.text += result.text;
  }
  outcome.text += matcher->Finish().text;
  outcome.matched = matcher->matched();
  return outcome;
}

// All 2^(n-1) ways to cut a text of n bytes.
std::vector<std::string> Cut(const std::string& text, uint32_t cuts) {
  std::vector<std::string> pieces(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i > 0 && (cuts >> (i - 1) & 1)) pieces.emplace_back();
    pieces.back().push_back(text[i]);
  }
  return pieces;
}

TEST(StopMatcherTest, EveryCuttingEqualsTheWholeSearch) {
  text_test::Random random(5);
  int matches = 0;
  for (int round = 0; round < 300; ++round) {
    const auto word = [&](size_t longest) {  // few letters: overlaps and near misses are common
      std::string made(1 + random.Below(longest), 'a');
      for (char& c : made) c = static_cast<char>('a' + random.Below(2));
      return made;
    };
    std::vector<std::string> stops(1 + random.Below(3));
    for (auto& stop : stops) stop = word(5);
    const std::string text = word(9);
    const Outcome expected = NaiveSearch(stops, text);
    matches += expected.matched.has_value();
    for (uint32_t cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
      ASSERT_EQ(Stream(stops, Cut(text, cuts)), expected) << text << " cut " << cuts;
    }
  }
  EXPECT_GT(matches, 100);
  EXPECT_LT(matches, 290);
}

TEST(StopMatcherTest, HoldsBackOnlyWhatMayBecomeAStop) {
  auto matcher = StopMatcher::Create({"\nUser:", "###"});
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->Append("Hello\nUs").text, "Hello");
  EXPECT_EQ(matcher->Append("ing #").text, "\nUsing ");
  EXPECT_EQ(matcher->Append("#").text, "");
  EXPECT_EQ(matcher->Append(" x").text, "## x");
  EXPECT_EQ(matcher->Append("end\nUser").text, "end");
  const auto last = matcher->Append(": leaked?");
  EXPECT_EQ(last.text, "");
  EXPECT_TRUE(last.stopped);
  EXPECT_EQ(matcher->matched(), 0u);
  EXPECT_EQ(matcher->Append("more").text, "");
  EXPECT_EQ(matcher->Finish().text, "");
  EXPECT_TRUE(matcher->Finish().stopped);
}

TEST(StopMatcherTest, InsideOnePieceOfSeveralTokens) {
  auto matcher = StopMatcher::Create({"STOP"});
  const auto result = matcher->Append("before STOP after STOP");
  EXPECT_EQ(result.text, "before ");
  EXPECT_TRUE(result.stopped);
}

TEST(StopMatcherTest, TheFirstCompleteStopWins) {
  EXPECT_EQ(Stream({"abcd", "bc"}, {"xabcd"}), (Outcome{"xa", 1}));
  EXPECT_EQ(Stream({"bc", "abc"}, {"x", "a", "b", "c"}), (Outcome{"x", 1}));  // the longest
  EXPECT_EQ(Stream({"same", "same"}, {"same"}), (Outcome{"", 0}));
}

TEST(StopMatcherTest, HeldTextComesOutAtTheEnd) {
  EXPECT_EQ(Stream({"\xF0\x9F\x98\x80!"}, {"a", "\xF0\x9F\x98\x80"}),
            (Outcome{"a\xF0\x9F\x98\x80", std::nullopt}));
}

TEST(StopMatcherTest, NoStopsHoldNothingAndEmptyStopsAreRefused) {
  auto none = StopMatcher::Create({});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->Append("text").text, "text");
  EXPECT_EQ(none->Finish().text, "");
  EXPECT_EQ(StopMatcher::Create({"a", ""}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace verbatim
