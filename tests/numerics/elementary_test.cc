// The elementary functions: special values, sampled error bounds, order, pinned digests. All 2^32
// inputs are in elementary_all_inputs_test.cc.
#include "numerics/elementary.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/numerics/digests.h"
#include "tests/numerics/elementary_cases.h"
#include "tests/numerics/splitmix.h"

namespace verbatim {
namespace {

constexpr float kInfF = std::numeric_limits<float>::infinity();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr float kDenormalMin = 0x1p-149f;

void ExpectSameBits(float got, float want) {
  EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << got << " " << want;
}

TEST(Elementary, Exp) {
  ExpectSameBits(Exp(0.0f), 1.0f);
  ExpectSameBits(Exp(-0.0f), 1.0f);
  ExpectSameBits(Exp(kDenormalMin), 1.0f);
  ExpectSameBits(Exp(-kInfF), 0.0f);
  ExpectSameBits(Exp(kInfF), kInfF);
  ExpectSameBits(Exp(std::nextafter(-87.0f, -kInfF)), 0.0f);
  ExpectSameBits(Exp(std::nextafter(88.0f, kInfF)), kInfF);
  EXPECT_GE(Exp(-87.0f), 0x1p-126f) << "the smallest result is not denormal";
  EXPECT_TRUE(std::isfinite(Exp(88.0f)));
  EXPECT_TRUE(std::isnan(Exp(kNanF)));
  EXPECT_TRUE(std::isnan(Exp(std::bit_cast<float>(0xffc12345u))));
  EXPECT_TRUE(std::isnan(Exp(std::bit_cast<float>(0x7f800001u)))) << "a signalling NaN";
}

TEST(Elementary, Expm1) {
  ExpectSameBits(Expm1(0.0f), 0.0f);
  ExpectSameBits(Expm1(-0.0f), -0.0f);
  ExpectSameBits(Expm1(kDenormalMin), kDenormalMin);
  ExpectSameBits(Expm1(-kDenormalMin), -kDenormalMin);
  ExpectSameBits(Expm1(-kInfF), -1.0f);
  ExpectSameBits(Expm1(-30.0f), -1.0f);
  ExpectSameBits(Expm1(kInfF), kInfF);
  ExpectSameBits(Expm1(std::nextafter(88.0f, kInfF)), kInfF);
  EXPECT_TRUE(std::isnan(Expm1(kNanF)));
}

TEST(Elementary, Log) {
  ExpectSameBits(Log(1.0f), 0.0f);
  ExpectSameBits(Log(0.0f), -kInfF);
  ExpectSameBits(Log(-0.0f), -kInfF);
  ExpectSameBits(Log(kInfF), kInfF);
  EXPECT_TRUE(std::isnan(Log(-kDenormalMin)));
  EXPECT_TRUE(std::isnan(Log(-kInfF)));
  EXPECT_TRUE(std::isnan(Log(kNanF)));
  EXPECT_NEAR(Log(kDenormalMin), -103.27893, 1e-5);
  EXPECT_NEAR(Log(std::numeric_limits<float>::max()), 88.722839, 1e-5);
}

TEST(Elementary, Log1p) {
  ExpectSameBits(Log1p(0.0f), 0.0f);
  ExpectSameBits(Log1p(-0.0f), -0.0f);
  ExpectSameBits(Log1p(kDenormalMin), kDenormalMin);
  ExpectSameBits(Log1p(-kDenormalMin), -kDenormalMin);
  ExpectSameBits(Log1p(-1.0f), -kInfF);
  ExpectSameBits(Log1p(kInfF), kInfF);
  EXPECT_TRUE(std::isnan(Log1p(std::nextafter(-1.0f, -2.0f))));
  EXPECT_TRUE(std::isnan(Log1p(-kInfF)));
  EXPECT_TRUE(std::isnan(Log1p(kNanF)));
  EXPECT_NEAR(Log1p(std::numeric_limits<float>::max()), 88.722839, 1e-5) << "2^-128 is not normal";
}

TEST(Elementary, Sigmoid) {
  ExpectSameBits(Sigmoid(0.0f), 0.5f);
  ExpectSameBits(Sigmoid(-0.0f), 0.5f);
  ExpectSameBits(Sigmoid(kInfF), 1.0f);
  ExpectSameBits(Sigmoid(-kInfF), 0.0f);
  ExpectSameBits(Sigmoid(-100.0f), 0.0f);
  EXPECT_TRUE(std::isnan(Sigmoid(kNanF)));
}

TEST(Elementary, Silu) {
  ExpectSameBits(Silu(0.0f), 0.0f);
  ExpectSameBits(Silu(-0.0f), -0.0f);
  ExpectSameBits(Silu(kInfF), kInfF);
  ExpectSameBits(Silu(-100.0f), -0.0f);
  ExpectSameBits(Silu(std::numeric_limits<float>::lowest()), -0.0f);
  EXPECT_TRUE(std::isnan(Silu(-kInfF))) << "-inf * 0, as the formula gives it";
  EXPECT_TRUE(std::isnan(Silu(kNanF)));
}

// qwen3_5.md section 9, item 24: overflow of log1p(exp(x)) for large x.
TEST(Elementary, Softplus) {
  ExpectSameBits(Softplus(100.0f), 100.0f);
  ExpectSameBits(Softplus(kInfF), kInfF);
  ExpectSameBits(Softplus(-kInfF), 0.0f);
  EXPECT_NEAR(Softplus(0.0f), 0.69314718, 1e-7);
  EXPECT_TRUE(std::isnan(Softplus(kNanF)));
}

TEST(Elementary, Tanh) {
  ExpectSameBits(Tanh(0.0f), 0.0f);
  ExpectSameBits(Tanh(-0.0f), -0.0f);
  ExpectSameBits(Tanh(kInfF), 1.0f);
  ExpectSameBits(Tanh(-kInfF), -1.0f);
  ExpectSameBits(Tanh(20.0f), 1.0f);
  ExpectSameBits(Tanh(kDenormalMin), kDenormalMin);
  EXPECT_TRUE(std::isnan(Tanh(kNanF)));
  for (float x : {1e-3f, 0.3f, 2.5f, 9.0f}) ExpectSameBits(Tanh(-x), -Tanh(x));
}

TEST(Elementary, GeluTanh) {
  ExpectSameBits(GeluTanh(0.0f), 0.0f);
  ExpectSameBits(GeluTanh(-0.0f), -0.0f);
  ExpectSameBits(GeluTanh(kInfF), kInfF);
  ExpectSameBits(GeluTanh(1e30f), 1e30f);
  ExpectSameBits(GeluTanh(-1e30f), -0.0f);
  EXPECT_TRUE(std::isnan(GeluTanh(-kInfF))) << "-inf * 0, as the formula gives it";
  EXPECT_TRUE(std::isnan(GeluTanh(kNanF)));
}

template <typename Case>
class ElementarySampled : public testing::Test {};
using AllCases = testing::Types<ExpCase, Expm1Case, LogCase, Log1pCase, SigmoidCase, SiluCase,
                                SoftplusCase, TanhCase, GeluTanhCase>;
struct CaseName {
  template <typename Case>
  static std::string GetName(int) {
    return Case::kName;
  }
};
TYPED_TEST_SUITE(ElementarySampled, AllCases, CaseName);

TYPED_TEST(ElementarySampled, StaysWithinItsBound) {
  constexpr uint32_t kStep = 4093;  // odd, so that all low mantissa bits vary; 2^20 inputs
  MeasuredError error;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStep) {
    MeasureOne<TypeParam>(static_cast<uint32_t>(bits), error);
  }
  EXPECT_EQ(error.violations, 0u) << "first at " << error.first_violation;
}

// Argument reduction seams: neighbours on both sides of every multiple of ln(2)/2 and power of two.
TYPED_TEST(ElementarySampled, StaysWithinItsBoundAtTheSeams) {
  MeasuredError error;
  std::vector<float> seams = {-87.0f, 88.0f, -44.0f, 0x1p24f, 0x1p-126f, 0x1.6a09e6p-1f};
  for (int i = -256; i <= 256; ++i) seams.push_back(static_cast<float>(i * 0.34657359027997264));
  for (int i = -140; i <= 127; ++i) {
    for (double base : {1.0, 1.4142135623730951, -1.0}) {
      seams.push_back(static_cast<float>(std::ldexp(base, i)));
      seams.push_back(static_cast<float>(std::ldexp(base, i) - 1.0));
    }
  }
  for (float seam : seams) {
    for (uint32_t i = 0; i < 65; ++i) {
      MeasureOne<TypeParam>(std::bit_cast<uint32_t>(seam) + i - 32, error);
    }
  }
  EXPECT_EQ(error.violations, 0u) << "first at " << error.first_violation;
}

// Between points further apart than the error bounds can blur, order is kept.
TYPED_TEST(ElementarySampled, IsMonotoneWhereItShouldBe) {
  const bool has_minimum = TypeParam::Ours(-1.0f) < 0 && TypeParam::Ours(-50.0f) > -0.5f;
  const float start = has_minimum ? 0.0f : -80.0f;  // silu and gelu_tanh turn around below 0
  float previous = -kInfF;
  for (float x = start; x < 80.0f; x += 0.0625f) {
    const float y = TypeParam::Ours(x);
    if (std::isnan(y)) continue;  // log and log1p below their domain
    EXPECT_GE(y, previous) << TypeParam::kName << " at " << x;
    previous = y;
  }
}

// 2^16 bit patterns over the whole range and 2^16 values in [-32, 32): any machine, compiler or
// flag that changes one bit of one result changes the digest.
TYPED_TEST(ElementarySampled, HasItsPinnedDigest) {
  std::vector<float> results;
  SplitMix random(7);
  for (uint32_t i = 0; i < (1u << 16); ++i) {
    results.push_back(TypeParam::Ours(std::bit_cast<float>(i * 65537u)));
    results.push_back(TypeParam::Ours(random.Uniform() * 32.0f));
  }
  PinnedDigests("elementary.txt").Expect(TypeParam::kName, results);
}

}  // namespace
}  // namespace verbatim
