// Traces: the same from the same seed, Poisson, every prompt before any comes again, prefixes as
// often as asked. Not the asking.
#include "measure/serve_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace verbatim {
namespace {

std::vector<FlipPrompt> Prompts(int count) {
  std::vector<FlipPrompt> prompts;
  for (int i = 0; i < count; ++i) prompts.push_back({.text = "prompt " + std::to_string(i)});
  return prompts;
}

TEST(ServeTrace, IsAFunctionOfItsSeed) {
  const TraceOptions options = {
      .requests = 50, .rate = 4, .shared_prefix = 0.5, .prefix_words = 5, .seed = 7};
  const auto a = MakeTrace(options, Prompts(20));
  const auto b = MakeTrace(options, Prompts(20));
  TraceOptions other = options;
  other.seed = 8;
  const auto c = MakeTrace(other, Prompts(20));
  ASSERT_EQ(a.size(), 50);
  bool differs = false;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].at_s, b[i].at_s);
    EXPECT_EQ(a[i].text, b[i].text);
    EXPECT_EQ(a[i].messages_json, b[i].messages_json);
    differs = differs || a[i].prompt != c[i].prompt;
  }
  EXPECT_TRUE(differs);
  EXPECT_NE(a[1].at_s, c[1].at_s);
}

TEST(ServeTrace, ArrivalsArePoisson) {
  const auto trace = MakeTrace({.requests = 20'000, .rate = 5, .seed = 1}, Prompts(3));
  EXPECT_EQ(trace.front().at_s, 0);
  double squares = 0;
  for (size_t i = 1; i < trace.size(); ++i) {
    const double gap = trace[i].at_s - trace[i - 1].at_s;
    EXPECT_GT(gap, 0);
    squares += gap * gap;
  }
  const auto gaps = static_cast<double>(trace.size() - 1);
  const double mean = trace.back().at_s / gaps;
  // Of an exponential distribution: mean 1/rate, and a deviation of as much. Five standard errors.
  EXPECT_NEAR(mean, 0.2, 5 * 0.2 / std::sqrt(gaps));
  EXPECT_NEAR(std::sqrt(squares / gaps - mean * mean), 0.2, 0.02);
}

TEST(ServeTrace, EndsWithItsDuration) {
  const auto trace =
      MakeTrace({.requests = 10'000, .rate = 10, .duration_s = 20, .seed = 1}, Prompts(3));
  EXPECT_LE(trace.back().at_s, 20);
  EXPECT_NEAR(static_cast<double>(trace.size()), 200, 75);  // five deviations of 200 arrivals
}

TEST(ServeTrace, WithoutARateHasNoTimes) {
  for (const TraceRequest& request : MakeTrace({.requests = 9}, Prompts(3))) {
    EXPECT_EQ(request.at_s, 0);
  }
}

TEST(ServeTrace, AsksEachPromptBeforeOneComesAgain) {
  const auto trace = MakeTrace({.requests = 12, .seed = 3}, Prompts(5));
  for (size_t round = 0; round < 2; ++round) {
    std::set<int64_t> seen;
    for (size_t i = 5 * round; i < 5 * round + 5; ++i) seen.insert(trace[i].prompt);
    EXPECT_EQ(seen.size(), 5);
  }
  EXPECT_EQ(trace[0].text, "prompt " + std::to_string(trace[0].prompt));
  EXPECT_EQ(trace[5].text, "[2] prompt " + std::to_string(trace[5].prompt));
  EXPECT_EQ(trace[11].text, "[3] prompt " + std::to_string(trace[11].prompt));
}

TEST(ServeTrace, PrefixesComeAsOftenAsAsked) {
  for (const double share : {0.0, 0.25, 1.0}) {
    const auto trace = MakeTrace(
        {.requests = 4000, .shared_prefix = share, .prefix_words = 3, .seed = 5}, Prompts(7));
    int64_t shared = 0;
    for (const TraceRequest& request : trace) shared += request.shared_prefix ? 1 : 0;
    // Five standard errors of 4000 throws: 0.034.
    EXPECT_NEAR(static_cast<double>(shared) / 4000, share, share == 0 || share == 1 ? 0 : 0.035);
  }
}

TEST(ServeTrace, APrefixIsASystemMessageAndTheBeginOfTheText) {
  const std::string prefix = SharedPrefix(4);
  const auto plain =
      MakeTrace({.requests = 1, .shared_prefix = 1, .prefix_words = 4}, Prompts(1)).front();
  EXPECT_EQ(plain.text, prefix + "\n\nprompt 0");
  EXPECT_EQ(nlohmann::json::parse(plain.messages_json),
            nlohmann::json::array({{{"role", "system"}, {"content", prefix}},
                                   {{"role", "user"}, {"content", "prompt 0"}}}));
  const std::vector<FlipPrompt> chat = {
      {.text = "Be brief. Hi",
       .messages_json =
           R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}])"}};
  const auto with_system =
      MakeTrace({.requests = 2, .shared_prefix = 1, .prefix_words = 4}, chat).back();
  EXPECT_EQ(nlohmann::json::parse(with_system.messages_json)[0]["content"],
            prefix + "\n\n[2] Be brief.");
}

TEST(ServeTrace, PrefixesHaveTheirLength) {
  const std::string prefix = SharedPrefix(3000);
  EXPECT_EQ(std::ranges::count(prefix, ' '), 2999);
  EXPECT_EQ(prefix.find('\n'), std::string::npos);
  EXPECT_TRUE(prefix.starts_with(SharedPrefix(10)));
}

}  // namespace
}  // namespace verbatim
