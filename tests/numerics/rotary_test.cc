// The rope tables against long double libm, the golden vector of qwen3_5.md section 10, and a
// digest.
#include "numerics/rotary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/numerics/digests.h"

namespace verbatim {
namespace {

TEST(Rotary, FrequenciesAreCorrectlyRounded) {
  for (double theta : {1.0, 10000.0, 1e6, 1e7, 5e5, 12345.678, 0x1p64}) {
    for (int rotary_dim : {2, 6, 64, 96, 128}) {
      const std::vector<double> frequencies = RotaryFrequencies(theta, rotary_dim);
      ASSERT_EQ(frequencies.size(), static_cast<size_t>(rotary_dim / 2));
      EXPECT_EQ(frequencies[0], 1.0);
      for (int i = 0; i < rotary_dim / 2; ++i) {
        // On x86-64 a long double has 11 bits more, so that a half ulp is told from a wrong
        // rounding; where it is a binary64 or binary128, the bound is the same and merely coarser
        // or finer.
        const long double exact = std::pow(static_cast<long double>(theta), -2.0L * i / rotary_dim);
        const long double ulp = std::nextafter(frequencies[i], 2 * frequencies[i]) - frequencies[i];
        EXPECT_LE(std::fabs(frequencies[i] - exact) / ulp, 0.51L) << theta << " " << i;
      }
    }
  }
}

TEST(Rotary, GoldenFrequencies) {
  const std::vector<double> frequencies = RotaryFrequencies(1e7, 64);
  EXPECT_NEAR(frequencies[1], 0.6042964, 5e-8);
  EXPECT_NEAR(frequencies[2], 0.3651741, 5e-8);
}

// The tables differ from cos and sin of the exact binary64 angle by the one rounding to binary32.
TEST(Rotary, CosAndSinAreRoundedOnce) {
  constexpr int kRotaryDim = 16;
  const std::vector<double> frequencies = RotaryFrequencies(1e7, kRotaryDim);
  const RotaryTables tables = MakeRotaryTables(1e7, kRotaryDim, kMaxRotaryPositions + 1);
  double worst = 0;
  std::vector<int64_t> positions;  // all small ones, a sample, the last ones
  for (int64_t p = 0; p < 4096; ++p) positions.push_back(p);
  for (int64_t p = 4096; p < kMaxRotaryPositions; p += 1021) positions.push_back(p);
  for (int64_t p = kMaxRotaryPositions - 64; p <= kMaxRotaryPositions; ++p) positions.push_back(p);
  for (int64_t position : positions) {
    for (int i = 0; i < kRotaryDim / 2; ++i) {
      const long double angle = static_cast<double>(position) * frequencies[i];
      const int64_t at = position * (kRotaryDim / 2) + i;
      for (auto [got, exact] : {std::pair(tables.cos[at], std::cos(angle)),
                                std::pair(tables.sin[at], std::sin(angle))}) {
        const float magnitude = std::fabs(got);
        const double ulp = std::nextafter(magnitude, 2.0f) - magnitude;
        worst = std::max(worst, static_cast<double>(std::fabs(got - exact)) / ulp);
      }
    }
  }
  EXPECT_LE(worst, 0.5 + 0x1p-20);
  EXPECT_GE(worst, 0.49) << "the test measures nothing";
}

TEST(Rotary, PositionZeroIsTheIdentity) {
  const RotaryTables tables = MakeRotaryTables(1e7, 64, 1);
  EXPECT_EQ(tables.cos, std::vector<float>(32, 1.0f));
  EXPECT_EQ(tables.sin, std::vector<float>(32, 0.0f));
}

TEST(Rotary, ASmallerTableIsAPrefix) {
  const RotaryTables small = MakeRotaryTables(10000, 64, 100);
  const RotaryTables large = MakeRotaryTables(10000, 64, 300);
  EXPECT_TRUE(std::equal(small.cos.begin(), small.cos.end(), large.cos.begin()));
  EXPECT_TRUE(std::equal(small.sin.begin(), small.sin.end(), large.sin.begin()));
}

TEST(Rotary, HasItsPinnedDigest) {
  const PinnedDigests pinned("rotary.txt");
  for (auto [name, theta, rotary_dim] :
       {std::tuple("theta1e7_rd64", 1e7, 64), std::tuple("theta10000_rd128", 1e4, 128)}) {
    RotaryTables tables = MakeRotaryTables(theta, rotary_dim, 8192);
    tables.cos.insert(tables.cos.end(), tables.sin.begin(), tables.sin.end());
    pinned.Expect(name, tables.cos);
  }
}

TEST(RotaryDeathTest, RefusesWhatItWasNotMadeFor) {
  EXPECT_DEATH(MakeRotaryTables(1e7, 63, 1), "broken invariant");
  EXPECT_DEATH(MakeRotaryTables(0.5, 64, 1), "broken invariant");
  EXPECT_DEATH(MakeRotaryTables(1e7, 64, kMaxRotaryPositions + 2), "broken invariant");
}

}  // namespace
}  // namespace verbatim
