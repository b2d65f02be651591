// Conversions between binary32 and the 16-bit types: every 16-bit value, and rounding at every
// boundary.
#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace verbatim {
namespace {

bool IsNan16(uint16_t h, uint16_t exponent_mask) {
  return (h & exponent_mask) == exponent_mask && (h & ~exponent_mask & 0x7fff) != 0;
}

TEST(Half, EveryBf16ValueSurvivesTheRoundTrip) {
  for (uint32_t h = 0; h <= 0xffff; ++h) {
    const uint16_t back = FloatToBf16(Bf16ToFloat(static_cast<uint16_t>(h)));
    EXPECT_EQ(back, IsNan16(static_cast<uint16_t>(h), 0x7f80) ? 0x7fc0 : h);
  }
}

TEST(Half, EveryF16ValueSurvivesTheRoundTrip) {
  for (uint32_t h = 0; h <= 0xffff; ++h) {
    const uint16_t back = FloatToF16(F16ToFloat(static_cast<uint16_t>(h)));
    EXPECT_EQ(back, IsNan16(static_cast<uint16_t>(h), 0x7c00) ? 0x7e00 : h);
  }
}

// Between two neighbours a and b: the middle goes to the even one, anything beside it to the nearer
// one.
template <typename Widen, typename Narrow>
void CheckRounding(uint16_t infinity, Widen widen, Narrow narrow) {
  for (uint16_t h = 0; h + 1 < infinity; ++h) {
    const float middle =
        widen(h) / 2 + widen(h + 1) / 2;  // exact: one more bit than the narrow type has
    const uint16_t even = h % 2 == 0 ? h : h + 1;
    ASSERT_EQ(narrow(middle), even) << h;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), h);
    ASSERT_EQ(narrow(std::nextafter(middle, std::numeric_limits<float>::infinity())), h + 1);
    ASSERT_EQ(narrow(-middle), even | 0x8000);
  }
}

TEST(Half, Bf16RoundsToNearestEven) { CheckRounding(0x7f7f, Bf16ToFloat, FloatToBf16); }
TEST(Half, F16RoundsToNearestEven) { CheckRounding(0x7bff, F16ToFloat, FloatToF16); }

TEST(Half, F16OverflowStartsAt65520) {
  EXPECT_EQ(FloatToF16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(FloatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToF16(-1e30f), 0xfc00);
}

TEST(Half, NansAreOneValue) {
  for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xffffffffu, 0xff812345u}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_EQ(FloatToBf16(nan), 0x7fc0);
    EXPECT_EQ(FloatToF16(nan), 0x7e00);
    EXPECT_EQ(CanonicalBits(nan), 0x7fc00000u);
  }
  EXPECT_EQ(CanonicalBits(-0.0f), 0x80000000u);
}

}  // namespace
}  // namespace verbatim
