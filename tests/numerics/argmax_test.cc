// The choice of a token without sampling: ties, zeros, NaN, and log-probabilities against binary64.
#include "numerics/argmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace verbatim::numerics {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Argmax, TiesGoToTheLowestId) {
  EXPECT_EQ(Argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(Argmax(std::vector<float>{-0.0f, 0.0f}), 0);
  EXPECT_EQ(Argmax(std::vector<float>{0.0f, -0.0f}), 0);
  EXPECT_EQ(Argmax(std::vector<float>{-kInf, -kInf}), 0);
  EXPECT_EQ(Argmax(std::vector<float>{-kInf, -5, kInf, kInf}), 2);
}

TEST(Argmax, NansAreSeenAnywhere) {
  for (size_t at : {0u, 7u, 31u, 99u}) {
    std::vector<float> row(100, 1.0f);
    EXPECT_FALSE(ContainsNan(row));
    row[at] = kNan;
    EXPECT_TRUE(ContainsNan(row));
    row[at] = -kNan;
    EXPECT_TRUE(ContainsNan(row));
  }
  EXPECT_FALSE(ContainsNan(std::vector<float>{kInf, -kInf}));
}

TEST(Argmax, TopTwoGap) {
  EXPECT_EQ(TopTwoGap(std::vector<float>{1, 5, 3}), 2);
  EXPECT_EQ(TopTwoGap(std::vector<float>{5, 1, 5}), 0);
  EXPECT_EQ(TopTwoGap(std::vector<float>{7, 6.5f}), 0.5f);
}

TEST(LogProbability, AgreesWithBinary64) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(0.7f * i) * 12;
  double z = 0;
  for (const float logit : logits) z += std::exp(double{logit});
  for (const int32_t id : {0, 1, 500, 999}) {
    EXPECT_NEAR(LogProbability(logits, id), logits[id] - std::log(z), 2e-6);
  }
}

// 130 equal logits: lanes 0 and 1 hold three of them, the others two; exact in binary32, so the
// tree can't hide.
TEST(LogProbability, SumsByLanesOverIds) {
  const std::vector<float> logits(128, 2.0f);
  EXPECT_FLOAT_EQ(LogProbability(logits, 5), -std::log(128.0f));
}

}  // namespace
}  // namespace verbatim::numerics
