// Exp, Expm1, Log, Log1p, Sigmoid, Silu, Softplus, Tanh, GeluTanh on sixteen lanes. Not their
// definition: numerics/elementary.h is, and each function here repeats its steps one by one, so
// that every lane has its bits (simd_math_test).
#if defined(VERBATIM_BACKEND_CPU_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_SIMD_MATH_INL_H_
#undef VERBATIM_BACKEND_CPU_SIMD_MATH_INL_H_
#else
#define VERBATIM_BACKEND_CPU_SIMD_MATH_INL_H_
#endif

#include "backend/cpu/simd-inl.h"
#include "numerics/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

struct ExpReduction {
  F32x16 r, scale;
};
HWY_INLINE ExpReduction ReduceExp(F32x16 x) {
  const F32x16 magic = Set(elementary::kExpMagic);
  const F32x16 t = Fma(x, Set(elementary::kLog2E), magic);
  const F32x16 n = Sub(t, magic);
  const F32x16 r = Fma(n, Set(-elementary::kLn2Lo), Fma(n, Set(-elementary::kLn2Hi), x));
  return {r, FromBits(ShiftLeft<23>(BitsOf(t)))};
}

template <int N>
HWY_INLINE F32x16 Polynomial(const float (&c)[N], F32x16 x) {
  F32x16 p = Set(c[N - 1]);
  for (int i = N - 2; i >= 0; --i) p = Fma(p, x, Set(c[i]));
  return p;
}

struct LogReduction {
  F32x16 m;
  I32x16 k;
};
HWY_INLINE LogReduction ReduceLog(F32x16 x) {
  const I32x16 sqrt_half = SetInt(static_cast<int32_t>(elementary::kSqrtHalfBits));
  const I32x16 shifted = Sub(BitsOf(x), sqrt_half);
  return {FromBits(Add(And(shifted, SetInt(0x7fffff)), sqrt_half)), ShiftRight<23>(shifted)};
}

HWY_INLINE F32x16 LogOfReduced(F32x16 k, F32x16 f) {
  const F32x16 q = Polynomial(elementary::kLogPoly, f);
  return Fma(k, Set(elementary::kLn2Hi), Fma(Mul(f, f), q, Fma(k, Set(elementary::kLn2Lo), f)));
}

HWY_INLINE F32x16 LogSpecials(F32x16 u, F32x16 x, F32x16 y) {
  y = Select(Lt(u, Set(elementary::kInfinity)), y, x);
  y = Select(Eq(u, Zero()), Set(-elementary::kInfinity), y);
  return Select(Lt(u, Zero()), Set(elementary::kNaN), y);
}

HWY_INLINE F32x16 Exp(F32x16 x) {
  const ExpReduction e = ReduceExp(x);
  const F32x16 one = Set(1.0f);
  const F32x16 q = Polynomial(elementary::kExpPoly, e.r);
  F32x16 y = Mul(Fma(Fma(q, e.r, one), e.r, one), e.scale);
  y = Select(Lt(x, Set(elementary::kExpMin)), Zero(), y);
  return Select(Lt(Set(elementary::kExpMax), x), Set(elementary::kInfinity), y);
}

HWY_INLINE F32x16 Expm1(F32x16 x) {
  const ExpReduction e = ReduceExp(x);
  const F32x16 p = Fma(Mul(e.r, e.r), Polynomial(elementary::kExpm1Poly, e.r), e.r);
  F32x16 y = Fma(p, e.scale, Sub(e.scale, Set(1.0f)));
  y = Select(Lt(x, Set(elementary::kExpMin)), Set(-1.0f), y);
  y = Select(Lt(Set(elementary::kExpMax), x), Set(elementary::kInfinity), y);
  return CopySign(y, x);
}

HWY_INLINE F32x16 Log(F32x16 x) {
  const M32x16 denormal = Lt(x, Set(elementary::kMinNormal));
  const LogReduction reduced =
      ReduceLog(Select(denormal, Mul(x, Set(elementary::kLogDenormalScale)), x));
  const I32x16 shift = Select(denormal, SetInt(elementary::kLogDenormalShift), SetInt(0));
  return LogSpecials(x, x, LogOfReduced(ToFloat(Sub(reduced.k, shift)), Sub(reduced.m, Set(1.0f))));
}

HWY_INLINE F32x16 Log1p(F32x16 x) {
  const F32x16 one = Set(1.0f);
  const F32x16 u = Add(one, x);
  const LogReduction reduced = ReduceLog(u);
  const F32x16 scale = FromBits(Sub(SetInt(0x3f800000), ShiftLeft<23>(reduced.k)));
  const F32x16 f = Select(Lt(x, Set(elementary::kLog1pLarge)), Fma(x, scale, Sub(scale, one)),
                          Sub(reduced.m, one));
  return CopySign(LogSpecials(u, x, LogOfReduced(ToFloat(reduced.k), f)), x);
}

HWY_INLINE F32x16 Sigmoid(F32x16 x) {
  const F32x16 one = Set(1.0f);
  const F32x16 e = Exp(Neg(Abs(x)));
  return Div(Select(Lt(x, Zero()), e, one), Add(one, e));
}

HWY_INLINE F32x16 Silu(F32x16 x) { return Mul(x, Sigmoid(x)); }

HWY_INLINE F32x16 Softplus(F32x16 x) {
  return Add(Select(Lt(Zero(), x), x, Zero()), Log1p(Exp(Neg(Abs(x)))));
}

HWY_INLINE F32x16 Tanh(F32x16 x) {
  const F32x16 m = Expm1(Mul(Set(-2.0f), Abs(x)));
  return CopySign(Div(Neg(m), Add(Set(2.0f), m)), x);
}

HWY_INLINE F32x16 GeluTanh(F32x16 x) {
  const F32x16 inner = Fma(Set(elementary::kGeluCubic), Mul(x, x), Set(elementary::kGeluLinear));
  return Mul(x, Sigmoid(Mul(x, inner)));
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_SIMD_MATH_INL_H_
