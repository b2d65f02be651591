// The elementary functions on sixteen lanes give the bits of numerics/elementary.h on every target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/backend/simd_math_test.cc"
// clang-format off
#include "backend/cpu/simd_config.h"
#include "hwy/foreach_target.h"
// clang-format on
#include "backend/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

// Order as in kFunctions below.
void Apply(int function, const float* x, float* y) {
  const F32x16 v = Load(x);
  switch (function) {
    case 0:
      return Store(Exp(v), y);
    case 1:
      return Store(Expm1(v), y);
    case 2:
      return Store(Log(v), y);
    case 3:
      return Store(Log1p(v), y);
    case 4:
      return Store(Sigmoid(v), y);
    case 5:
      return Store(Silu(v), y);
    case 6:
      return Store(Softplus(v), y);
    case 7:
      return Store(Tanh(v), y);
    case 8:
      return Store(GeluTanh(v), y);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "numerics/elementary.h"
#include "tests/backend/state_op_test_util.h"
#include "tests/support/sample_size.h"

namespace verbatim::cpu {
namespace {

struct Function {
  const char* name;
  float (*scalar)(float);
};
constexpr Function kFunctions[] = {{"Exp", verbatim::Exp},           {"Expm1", verbatim::Expm1},
                                   {"Log", verbatim::Log},           {"Log1p", verbatim::Log1p},
                                   {"Sigmoid", verbatim::Sigmoid},   {"Silu", verbatim::Silu},
                                   {"Softplus", verbatim::Softplus}, {"Tanh", verbatim::Tanh},
                                   {"GeluTanh", verbatim::GeluTanh}};

auto ApplyOf(Target target) {
  VERBATIM_RETURN_FOR_TARGET(target, Apply, Apply)
  return N_SCALAR::Apply;
}

class SimdMath : public ::testing::TestWithParam<int> {};

void ExpectSame(int function, const std::vector<Target>& targets, const std::array<float, 16>& x) {
  std::array<float, 16> expected, received;
  for (size_t i = 0; i < x.size(); ++i) expected[i] = kFunctions[function].scalar(x[i]);
  for (const Target target : targets) {
    ApplyOf(target)(function, x.data(), received.data());
    ASSERT_TRUE(SameBits(expected, received))
        << kFunctions[function].name << " near " << x[0] << " on " << TargetName(target);
  }
}

// A prime stride: every exponent (2^23 values each), and mantissas of every kind.
TEST_P(SimdMath, EqualsScalarOverAllExponents) {
  constexpr uint64_t kStride = testing::Sampled(1999, 40009);
  const std::vector<Target> targets = TestTargets();
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 16 * kStride) {
    std::array<float, 16> x;
    for (uint64_t i = 0; i < 16; ++i) {
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(bits + i * kStride));
    }
    ExpectSame(GetParam(), targets, x);
    if (HasFatalFailure()) return;
  }
}

// Runs of 64 neighbours on both sides of each threshold of elementary.h.
TEST_P(SimdMath, EqualsScalarAroundThresholds) {
  const std::vector<Target> targets = TestTargets();
  for (const float centre : {0.0f, 0x1p-126f, 0x1p-24f, 0.5f, 0.34657359f, 0.70710678f, 1.0f,
                             1.41421356f, 2.0f, 20.0f, 43.5f, 44.0f, 87.0f, 88.0f, 0x1p23f, 0x1p24f,
                             0x1p126f, 3.4028235e38f, std::numeric_limits<float>::infinity()}) {
    for (const float sign : {1.0f, -1.0f}) {
      const uint32_t bits = std::bit_cast<uint32_t>(sign * centre);
      for (uint32_t start = bits - 64; start != bits + 64; start += 16) {
        std::array<float, 16> x;
        for (uint32_t i = 0; i < 16; ++i) x[i] = std::bit_cast<float>(start + i);
        ExpectSame(GetParam(), targets, x);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, SimdMath,
                         ::testing::Range(0, static_cast<int>(std::size(kFunctions))),
                         [](const auto& param) { return kFunctions[param.param].name; });

}  // namespace
}  // namespace verbatim::cpu

#endif
