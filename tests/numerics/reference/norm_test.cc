// The reference norms against binary64 formulas and the norm items of qwen3_5.md section 9.
#include "numerics/reference/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/numerics/splitmix.h"

namespace verbatim::reference {
namespace {

double SumOfSquares(const std::vector<float>& x) {
  double sum = 0;
  for (float value : x) sum += double{value} * value;
  return sum;
}
double SiluOf(double z) { return z / (1 + std::exp(-z)); }

TEST(LaneSum, AgreesWithBinary64) {
  SplitMix random(1);
  for (int d : {1, 63, 64, 65, 128, 192, 256, 1000}) {
    const std::vector<float> x = random.Uniforms(d);
    EXPECT_NEAR(LaneSum(x), SumOfSquares(x), SumOfSquares(x) * 1e-6) << d;
  }
  EXPECT_EQ(LaneSum({}), 0.0f);
}

TEST(LaneSum, UsesSixtyFourLanesAddedByHalves) {
  // Squares 2^24, 1, 1 survive only if 0 and 64 share a lane and 1 and 33 meet before lane 0.
  std::vector<float> x(65, 0.0f);
  x[0] = 0x1p12f;
  x[1] = 1.0f;
  x[33] = 1.0f;  // l[1] = 2, then 2^24 + 2
  EXPECT_EQ(LaneSum(x), 0x1p24f + 2.0f);
  x[64] = 1.0f;  // fma(1, 1, 2^24) in lane 0 is lost
  EXPECT_EQ(LaneSum(x), 0x1p24f + 2.0f);
  x[64] = 0.0f;
  x[33] = 0.0f;
  x[34] = 1.0f;  // l[2] = 1 reaches lane 0 before lane 1 does: both lost
  EXPECT_EQ(LaneSum(x), 0x1p24f);
}

// Item 16: the weight differs from channel to channel.
TEST(RmsNorm, AgreesWithBinary64) {
  SplitMix random(2);
  for (int d : {16, 192, 256}) {
    const std::vector<float> x = random.Uniforms(d, 3.0f);
    const std::vector<float> w = random.Uniforms(d, 2.0f);
    std::vector<float> y(d);
    RmsNorm(x.data(), w.data(), d, 1e-6f, y.data());
    const double r = 1 / std::sqrt(SumOfSquares(x) / d + 1e-6);
    for (int i = 0; i < d; ++i) EXPECT_NEAR(y[i], x[i] * r * w[i], 2e-6);
  }
}

TEST(RmsNorm, ZeroRowIsZeroAndMayBeInPlace) {
  std::vector<float> x(64, 0.0f);
  const std::vector<float> w(64, 1.0f);
  RmsNorm(x.data(), w.data(), 64, 1e-6f, x.data());
  EXPECT_EQ(x, std::vector<float>(64, 0.0f));
}

TEST(RmsNorm, OverflowingRowIsZeroNotNan) {
  std::vector<float> x(64, 1e30f);  // the sum is infinite, r = 1 / inf = 0
  const std::vector<float> w(64, 1.0f);
  RmsNorm(x.data(), w.data(), 64, 1e-6f, x.data());
  EXPECT_EQ(x, std::vector<float>(64, 0.0f));
}

// Item 2: the weight is plain w, not 1 + w.
TEST(GatedNorm, AgreesWithBinary64) {
  SplitMix random(3);
  const int d = 128;
  const std::vector<float> o = random.Uniforms(d, 3.0f);
  const std::vector<float> z = random.Uniforms(d, 6.0f);
  const std::vector<float> w(d, 0.5f);
  std::vector<float> y(d);
  GatedNorm(o.data(), z.data(), w.data(), d, 1e-6f, y.data());
  const double r = 1 / std::sqrt(SumOfSquares(o) / d + 1e-6);
  for (int i = 0; i < d; ++i) EXPECT_NEAR(y[i], o[i] * r * 0.5 * SiluOf(z[i]), 1e-5);
}

// Item 29: the gate comes after the norm, so doubling a large z doubles the output.
TEST(GatedNorm, GateComesLast) {
  const float o[] = {1.0f, -2.0f, 3.0f, 0.5f};
  const float w[] = {0.5f, 1.5f, 1.0f, 1.0f};
  const float z[] = {40.0f, 40.0f, 40.0f, 40.0f};
  const float doubled[] = {80.0f, 80.0f, 80.0f, 80.0f};
  float y[4], y2[4];
  GatedNorm(o, z, w, 4, 1e-6f, y);
  GatedNorm(o, doubled, w, 4, 1e-6f, y2);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y2[i], 2 * y[i]);
}

// Item 17: eps is 1e-6 inside the root of the sum (not of the mean).
TEST(L2Norm, ZeroAndTinyVectors) {
  std::vector<float> q(128, 0.0f);
  std::vector<float> out(128);
  L2Norm(q.data(), 128, out.data());
  EXPECT_EQ(out, q);
  q.assign(128, 1e-4f);  // sum 1.28e-6, of the size of eps
  L2Norm(q.data(), 128, out.data());
  const double r = 1 / std::sqrt(SumOfSquares(q) + 1e-6);
  for (float value : out) EXPECT_NEAR(value, 1e-4 * r, 1e-7);
  L2NormScaled(q.data(), 128, 0.0883883461f, out.data());
  for (float value : out) EXPECT_NEAR(value, 1e-4 * r / std::sqrt(128.0), 1e-8);
}

TEST(L2Norm, ScaleComesAfterTheNorm) {
  SplitMix random(4);
  const std::vector<float> q = random.Uniforms(64);
  std::vector<float> khat(64), qhat(64);
  L2Norm(q.data(), 64, khat.data());
  L2NormScaled(q.data(), 64, 0.3f, qhat.data());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(qhat[i], khat[i] * 0.3f);
}

}  // namespace
}  // namespace verbatim::reference
