// Exp, Expm1, Log, Log1p, Sigmoid, Silu, Softplus, Tanh, GeluTanh on one float (numerics.md 7): the
// definition that every backend repeats bit for bit. Not vectorised and not a libm.
//
// Each function is one fixed sequence of binary32 operations (+ - * / fma), integer operations on
// bits, and selects; both sides of a select may be computed. A SIMD version does the same steps in
// the same order. NaN in gives NaN out. docs/numerics.md states the steps and measured errors.
#ifndef VERBATIM_NUMERICS_ELEMENTARY_H_
#define VERBATIM_NUMERICS_ELEMENTARY_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "numerics/elementary_coefficients.h"

namespace verbatim::elementary {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// x = n * ln 2 + r, |r| <= ln(2)/2 (up to rounding), scale = 2^n. Meaningless outside
// [kExpMin, kExpMax]; the callers replace those results.
struct ExpReduction {
  float r, scale;
};
inline ExpReduction ReduceExp(float x) {
  const float t = std::fma(x, kLog2E, kExpMagic);
  const float n = t - kExpMagic;
  const float r = std::fma(n, -kLn2Lo, std::fma(n, -kLn2Hi, x));
  return {r, std::bit_cast<float>(std::bit_cast<uint32_t>(t) << 23)};
}

// c[0] + c[1] x + ... in Horner order, one fma per coefficient but the last.
template <int N>
inline float Polynomial(const float (&c)[N], float x) {
  float p = c[N - 1];
  for (int i = N - 2; i >= 0; --i) p = std::fma(p, x, c[i]);
  return p;
}

// bits(x) = bits(m) + (k << 23) with m in [sqrt(1/2), sqrt(2)), for positive normal x.
struct LogReduction {
  float m;
  int32_t k;
};
inline LogReduction ReduceLog(float x) {
  const uint32_t shifted = std::bit_cast<uint32_t>(x) - kSqrtHalfBits;
  return {std::bit_cast<float>((shifted & 0x7fffffu) + kSqrtHalfBits),
          static_cast<int32_t>(shifted) >> 23};
}

// k * ln 2 + log(1 + f).
inline float LogOfReduced(float k, float f) {
  const float q = Polynomial(kLogPoly, f);
  return std::fma(k, kLn2Hi, std::fma(f * f, q, std::fma(k, kLn2Lo, f)));
}

// The specials of log and log1p, u = x or 1 + x: u = 0 -> -inf, u < 0 -> NaN, +inf and NaN -> x.
inline float LogSpecials(float u, float x, float y) {
  y = u < kInfinity ? y : x;
  y = u == 0.0f ? -kInfinity : y;
  return u < 0.0f ? kNaN : y;
}

// +0 for x < -87, exactly 1 at +-0, +inf for x > 88.
inline float Exp(float x) {
  const auto [r, scale] = ReduceExp(x);
  const float q = Polynomial(kExpPoly, r);
  float y = std::fma(std::fma(q, r, 1.0f), r, 1.0f) * scale;
  y = x < kExpMin ? 0.0f : y;
  return x > kExpMax ? kInfinity : y;
}

// -1 for x < -87, +-0 at +-0, +inf for x > 88.
inline float Expm1(float x) {
  const auto [r, scale] = ReduceExp(x);
  const float p = std::fma(r * r, Polynomial(kExpm1Poly, r), r);
  float y = std::fma(p, scale, scale - 1.0f);
  y = x < kExpMin ? -1.0f : y;
  y = x > kExpMax ? kInfinity : y;
  return std::copysign(y, x);
}

// -inf at +-0, NaN below, +inf at +inf; denormals are numbers.
inline float Log(float x) {
  const bool denormal = x < kMinNormal;
  const auto [m, k] = ReduceLog(denormal ? x * kLogDenormalScale : x);
  const int32_t exponent = k - (denormal ? kLogDenormalShift : 0);
  return LogSpecials(x, x, LogOfReduced(static_cast<float>(exponent), m - 1.0f));
}

// -inf at -1, NaN below, +-0 at +-0, +inf at +inf.
inline float Log1p(float x) {
  const float u = 1.0f + x;
  const auto [m, k] = ReduceLog(u);
  // 2^-k * (1 + x) - 1 with one rounding: what 1 + x lost is not lost here.
  const float scale = std::bit_cast<float>(0x3f800000u - (static_cast<uint32_t>(k) << 23));
  const float f = x < kLog1pLarge ? std::fma(x, scale, scale - 1.0f) : m - 1.0f;
  return std::copysign(LogSpecials(u, x, LogOfReduced(static_cast<float>(k), f)), x);
}

inline float Sigmoid(float x) {
  const float e = Exp(-std::fabs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

// silu(-inf) = -inf * 0 = NaN, as the formula gives it.
inline float Silu(float x) { return x * Sigmoid(x); }

inline float Softplus(float x) { return (x > 0.0f ? x : 0.0f) + Log1p(Exp(-std::fabs(x))); }

inline float Tanh(float x) {
  const float m = Expm1(-2.0f * std::fabs(x));
  return std::copysign(-m / (2.0f + m), x);
}

// gelu_tanh(-inf) = -inf * 0 = NaN, as the formula gives it.
inline float GeluTanh(float x) { return x * Sigmoid(x * std::fma(kGeluCubic, x * x, kGeluLinear)); }

}  // namespace verbatim::elementary

namespace verbatim {

using elementary::Exp;
using elementary::Expm1;
using elementary::GeluTanh;
using elementary::Log;
using elementary::Log1p;
using elementary::Sigmoid;
using elementary::Silu;
using elementary::Softplus;
using elementary::Tanh;

}  // namespace verbatim

#endif  // VERBATIM_NUMERICS_ELEMENTARY_H_
