// What numerics.md 7 promises of each elementary function, and the binary64 formula it is measured
// against. Used by the sampled test and by the test over all inputs.
#ifndef VERBATIM_TESTS_NUMERICS_ELEMENTARY_CASES_H_
#define VERBATIM_TESTS_NUMERICS_ELEMENTARY_CASES_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "numerics/elementary.h"

namespace verbatim {

// The spacing of binary32 at y; 2^-149 for zeros and denormals.
inline double Binary32Ulp(double y) {
  const int exponent = static_cast<int>(std::bit_cast<uint64_t>(y) >> 52 & 0x7ff) - 1023;
  return std::ldexp(1.0, std::max(exponent, -126) - 23);
}

// Where a result lies relative to its bound, which decides how its error is measured.
enum class Measure {
  kUlp,       // |y - exact| in units of Binary32Ulp(exact)
  kAbsolute,  // |y - exact|
  kPerInput,  // |y - exact| / |x|
  kExact,     // y is `exact`, bit for bit; NaN for NaN
};
struct Expectation {
  double exact;
  Measure measure;
  double bound;
};

inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline Expectation UlpOrTiny(double exact) {
  if (!std::isfinite(exact)) return {exact, Measure::kExact, 0};
  if (std::fabs(exact) >= 0x1p-100) return {exact, Measure::kUlp, 6};
  return {exact, Measure::kAbsolute, 0x1p-118};
}
inline Expectation TwoUlp(double exact) {
  if (!std::isfinite(exact)) return {exact, Measure::kExact, 0};
  return {exact, Measure::kUlp, 2};
}

// One struct per function: kName, Ours, Expect. x is any of the 2^32 inputs, widened.
struct ExpCase {
  static constexpr char kName[] = "exp";
  static float Ours(float x) { return Exp(x); }
  static Expectation Expect(double x) {
    if (x < -87) return {0, Measure::kExact, 0};
    if (x > 88) return {kInf, Measure::kExact, 0};
    return TwoUlp(std::exp(x));
  }
};
struct Expm1Case {
  static constexpr char kName[] = "expm1";
  static float Ours(float x) { return Expm1(x); }
  static Expectation Expect(double x) {
    if (x > 88) return {kInf, Measure::kExact, 0};  // with exp, so that 2^n stays a normal number
    return TwoUlp(std::expm1(x));
  }
};
struct LogCase {
  static constexpr char kName[] = "log";
  static float Ours(float x) { return Log(x); }
  static Expectation Expect(double x) { return TwoUlp(std::log(x)); }
};
struct Log1pCase {
  static constexpr char kName[] = "log1p";
  static float Ours(float x) { return Log1p(x); }
  static Expectation Expect(double x) { return TwoUlp(std::log1p(x)); }
};
struct SigmoidCase {
  static constexpr char kName[] = "sigmoid";
  static float Ours(float x) { return Sigmoid(x); }
  static Expectation Expect(double x) { return UlpOrTiny(1 / (1 + std::exp(-x))); }
};
struct SiluCase {
  static constexpr char kName[] = "silu";
  static float Ours(float x) { return Silu(x); }
  static Expectation Expect(double x) { return UlpOrTiny(x * (1 / (1 + std::exp(-x)))); }
};
struct SoftplusCase {
  static constexpr char kName[] = "softplus";
  static float Ours(float x) { return Softplus(x); }
  static Expectation Expect(double x) {
    return UlpOrTiny((x < 0 ? 0 : x) + std::log1p(std::exp(-std::fabs(x))));
  }
};
struct TanhCase {
  static constexpr char kName[] = "tanh";
  static float Ours(float x) { return Tanh(x); }
  static Expectation Expect(double x) { return UlpOrTiny(std::tanh(x)); }
};
struct GeluTanhCase {
  static constexpr char kName[] = "gelu_tanh";
  static float Ours(float x) { return GeluTanh(x); }
  static Expectation Expect(double x) {
    const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);  // sqrt(2 / pi)
    const double exact = x * (1 / (1 + std::exp(-2 * u)));
    if (!std::isfinite(exact) || x == 0) return {exact, Measure::kExact, 0};
    // Half the spacing of denormals is more than 2^-22 * |x| below this: no binary32 could do it.
    if (std::fabs(x) < 0x1p-127) return {exact, Measure::kAbsolute, 0x1p-149};
    return {exact, Measure::kPerInput, 0x1p-22};
  }
};

// The largest errors seen, each with its input.
struct MeasuredError {
  double ulp = 0, absolute = 0, per_input = 0;
  float ulp_at = 0, absolute_at = 0, per_input_at = 0;
  uint64_t violations = 0;  // results outside their bound
  float first_violation = 0;

  void Merge(const MeasuredError& other) {
    if (other.ulp > ulp) ulp = other.ulp, ulp_at = other.ulp_at;
    if (other.absolute > absolute) absolute = other.absolute, absolute_at = other.absolute_at;
    if (other.per_input > per_input) per_input = other.per_input, per_input_at = other.per_input_at;
    if (violations == 0) first_violation = other.first_violation;
    violations += other.violations;
  }
};

template <typename Case>
void MeasureOne(uint32_t bits, MeasuredError& error) {
  const float x = std::bit_cast<float>(bits);
  const float y = Case::Ours(x);
  const Expectation want = Case::Expect(static_cast<double>(x));
  bool good;
  if (want.measure == Measure::kExact) {
    const float exact = static_cast<float>(want.exact);
    good = std::isnan(exact) ? std::isnan(y)
                             : std::bit_cast<uint32_t>(y) == std::bit_cast<uint32_t>(exact);
  } else {
    double e = std::fabs(static_cast<double>(y) - want.exact);
    if (want.measure == Measure::kUlp) e /= Binary32Ulp(want.exact);
    if (want.measure == Measure::kPerInput) e /= std::fabs(static_cast<double>(x));
    good = e <= want.bound;  // false for NaN
    double& worst = want.measure == Measure::kUlp        ? error.ulp
                    : want.measure == Measure::kAbsolute ? error.absolute
                                                         : error.per_input;
    float& at = want.measure == Measure::kUlp        ? error.ulp_at
                : want.measure == Measure::kAbsolute ? error.absolute_at
                                                     : error.per_input_at;
    if (e > worst) worst = e, at = x;
  }
  if (!good && error.violations++ == 0) error.first_violation = x;
}

}  // namespace verbatim

#endif  // VERBATIM_TESTS_NUMERICS_ELEMENTARY_CASES_H_
