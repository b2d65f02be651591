// Medians, quartiles and the order of interleaved rounds.
#include "measure/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace verbatim {
namespace {

using ::testing::ElementsAre;

TEST(StatisticsTest, QuantilesLieBetweenTheirNeighbours) {
  const std::vector<double> sorted = {1, 2, 4, 8};
  EXPECT_EQ(Quantile(sorted, 0), 1);
  EXPECT_EQ(Quantile(sorted, 0.5), 3);
  EXPECT_EQ(Quantile(sorted, 0.25), 1.75);
  EXPECT_EQ(Quantile(sorted, 1), 8);
  EXPECT_EQ(Quantile(std::vector<double>{7}, 0.75), 7);
}

TEST(StatisticsTest, SummarySortsAndCounts) {
  const Summary summary = Summarize({9, 1, 5, 3, 7});
  EXPECT_EQ(summary.median, 5);
  EXPECT_EQ(summary.low, 3);
  EXPECT_EQ(summary.high, 7);
  EXPECT_EQ(summary.count, 5);
  EXPECT_EQ(Summarize({}).count, 0);
}

TEST(StatisticsTest, OneOutlierMovesNeitherMedianNorQuartilesFar) {
  const Summary summary = Summarize({1, 1, 1, 1, 1000});
  EXPECT_EQ(summary.median, 1);
  EXPECT_EQ(summary.high, 1);
}

TEST(StatisticsTest, EverySecondRoundRunsBackwards) {
  std::string order;
  const auto arm = [&](const char* name) {
    return Arm{name, [&order, name]() -> Expected<double> {
                 order += name;
                 return static_cast<double>(order.size());
               }};
  };
  std::vector<double> fractions;
  const std::vector<Arm> arms = {arm("a"), arm("b"), arm("c")};
  const auto samples = RunInterleaved(
      arms, 3, [&](double fraction, const std::string&) { fractions.push_back(fraction); });
  ASSERT_TRUE(samples.ok());
  EXPECT_EQ(order, "abccbaabc");
  EXPECT_THAT((*samples)[0], ElementsAre(1, 6, 7));
  EXPECT_THAT((*samples)[1], ElementsAre(2, 5, 8));
  EXPECT_EQ(fractions.size(), 9u);
  EXPECT_EQ(fractions.front(), 0);
  EXPECT_LT(fractions.back(), 1);
}

TEST(StatisticsTest, TheFirstErrorEndsTheRun) {
  int runs = 0;
  const std::vector<Arm> arms = {{"breaks", [&]() -> Expected<double> {
                                    ++runs;
                                    return Status(StatusCode::kIo, "broken");
                                  }}};
  EXPECT_EQ(RunInterleaved(arms, 5, {}).status().code(), StatusCode::kIo);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace verbatim
