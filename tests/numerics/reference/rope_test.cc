// The reference rope: golden vector of qwen3_5.md section 10 and items 14 to 16 of section 9.
#include "numerics/reference/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "numerics/reference/norm.h"
#include "numerics/rotary.h"
#include "tests/numerics/splitmix.h"

namespace verbatim::reference {
namespace {

constexpr int kHeadDim = 256;
constexpr int kRotaryDim = 64;

std::vector<float> Rotated(const std::vector<float>& x, int position) {
  static const RotaryTables kTables = MakeRotaryTables(1e7, kRotaryDim, 64);
  std::vector<float> y(kHeadDim);
  const int row = position * kRotaryDim / 2;
  Rope(x.data(), kHeadDim, kRotaryDim, &kTables.cos[row], &kTables.sin[row], y.data());
  return y;
}

// Item 15: pairs are (i, i + 32), not neighbours.
TEST(Rope, GoldenVector) {
  std::vector<float> x(kHeadDim);
  for (int d = 0; d < kHeadDim; ++d) x[d] = static_cast<float>(std::sin(0.1 * d));
  const std::vector<float> y = Rotated(x, 5);
  for (auto [d, want] :
       {std::pair(0, -0.0559764), std::pair(1, -0.0802127), std::pair(31, 0.0415806),
        std::pair(32, -0.0165585), std::pair(33, 0.1685714), std::pair(63, 0.0168139),
        std::pair(64, 0.1165492), std::pair(255, 0.3590584)}) {
    EXPECT_NEAR(y[d], want, 2e-7) << d;
  }
}

// Item 14: channels from rotary_dim on are unchanged, bit for bit.
TEST(Rope, PassesTheOtherChannelsThrough) {
  SplitMix random(1);
  const std::vector<float> x = random.Uniforms(kHeadDim);
  const std::vector<float> y = Rotated(x, 17);
  for (int d = 0; d < kHeadDim; ++d) {
    if (d < kRotaryDim) {
      EXPECT_NE(x[d], y[d]) << d;
    } else {
      EXPECT_EQ(x[d], y[d]) << d;
    }
  }
}

TEST(Rope, PositionZeroChangesNothing) {
  SplitMix random(2);
  const std::vector<float> x = random.Uniforms(kHeadDim);
  EXPECT_EQ(Rotated(x, 0), x);
}

TEST(Rope, MayBeInPlaceAndKeepsTheLength) {
  SplitMix random(3);
  std::vector<float> x = random.Uniforms(kHeadDim);
  const std::vector<float> y = Rotated(x, 9);
  EXPECT_NEAR(LaneSum(x), LaneSum(y), 1e-4);
  const RotaryTables tables = MakeRotaryTables(1e7, kRotaryDim, 10);
  Rope(x.data(), kHeadDim, kRotaryDim, &tables.cos[9 * 32], &tables.sin[9 * 32], x.data());
  EXPECT_EQ(x, y);
}

// Item 16: with a weight that differs by channel, norm before rope is not rope before norm.
TEST(Rope, NormGoesBefore) {
  SplitMix random(4);
  const std::vector<float> x = random.Uniforms(kHeadDim);
  const std::vector<float> w = random.Uniforms(kHeadDim, 2.0f);
  std::vector<float> normed(kHeadDim), late(kHeadDim);
  RmsNorm(x.data(), w.data(), kHeadDim, 1e-6f, normed.data());
  RmsNorm(Rotated(x, 5).data(), w.data(), kHeadDim, 1e-6f, late.data());
  EXPECT_GT(std::fabs(Rotated(normed, 5)[0] - late[0]), 1e-3);
}

}  // namespace
}  // namespace verbatim::reference
