// Sixteen lanes of binary32 or int32 as one value, the same on every target. Not the integer dots
// (simd_dot-inl.h) and not elementary functions (simd_math-inl.h).
//
// Kernels are written once against these types. Highway targets hold 16 / Lanes(d) vectors;
// N_SCALAR holds an array and uses std::fma, since Highway's scalar target rounds twice where an
// fma is asked for (numerics.md 12). Every operation is the correctly rounded IEEE one, lane by
// lane, so results do not depend on the target. Forbidden here: ReorderWidenMulAccumulate,
// DemoteTo(bfloat16_t), ReduceSum of floats.
#if defined(VERBATIM_BACKEND_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_SIMD_INL_H_
#undef VERBATIM_BACKEND_CPU_SIMD_INL_H_
#else
#define VERBATIM_BACKEND_CPU_SIMD_INL_H_
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

inline constexpr size_t kLanes = 16;

#if HWY_TARGET == HWY_SCALAR

struct F32x16 {
  float v[kLanes];
};
struct I32x16 {
  int32_t v[kLanes];
};
struct M32x16 {
  bool v[kLanes];
};

// Defines R Name(A a, B b): lane i is `expression` of a.v[i], b.v[i].
#define VERBATIM_LANES1(R, Name, A, expression) \
  HWY_INLINE R Name(A a) {                      \
    R r;                                        \
    for (size_t i = 0; i < kLanes; ++i) {       \
      const auto x = a.v[i];                    \
      r.v[i] = (expression);                    \
    }                                           \
    return r;                                   \
  }
#define VERBATIM_LANES2(R, Name, A, B, expression) \
  HWY_INLINE R Name(A a, B b) {                    \
    R r;                                           \
    for (size_t i = 0; i < kLanes; ++i) {          \
      const auto x = a.v[i];                       \
      const auto y = b.v[i];                       \
      r.v[i] = (expression);                       \
    }                                              \
    return r;                                      \
  }

HWY_INLINE F32x16 Set(float x) {
  F32x16 r;
  for (float& lane : r.v) lane = x;
  return r;
}
HWY_INLINE I32x16 SetInt(int32_t x) {
  I32x16 r;
  for (int32_t& lane : r.v) lane = x;
  return r;
}
HWY_INLINE F32x16 Load(const float* p) {
  F32x16 r;
  std::memcpy(r.v, p, sizeof(r.v));
  return r;
}
HWY_INLINE void Store(F32x16 a, float* p) { std::memcpy(p, a.v, sizeof(a.v)); }
HWY_INLINE I32x16 LoadInt(const int32_t* p) {
  I32x16 r;
  std::memcpy(r.v, p, sizeof(r.v));
  return r;
}
HWY_INLINE void StoreInt(I32x16 a, int32_t* p) { std::memcpy(p, a.v, sizeof(a.v)); }
HWY_INLINE F32x16 LoadN(const float* p, size_t n) {
  F32x16 r = Set(0.0f);
  std::memcpy(r.v, p, n * sizeof(float));
  return r;
}
HWY_INLINE void StoreN(F32x16 a, float* p, size_t n) { std::memcpy(p, a.v, n * sizeof(float)); }

VERBATIM_LANES2(F32x16, Add, F32x16, F32x16, x + y)
VERBATIM_LANES2(F32x16, Sub, F32x16, F32x16, x - y)
VERBATIM_LANES2(F32x16, Mul, F32x16, F32x16, x* y)
VERBATIM_LANES2(F32x16, Div, F32x16, F32x16, x / y)
VERBATIM_LANES1(F32x16, Sqrt, F32x16, std::sqrt(x))
VERBATIM_LANES1(F32x16, Rint, F32x16, std::nearbyint(x))
VERBATIM_LANES1(I32x16, BitsOf, F32x16, std::bit_cast<int32_t>(x))
VERBATIM_LANES1(F32x16, FromBits, I32x16, std::bit_cast<float>(x))
VERBATIM_LANES1(F32x16, ToFloat, I32x16, static_cast<float>(x))
VERBATIM_LANES1(I32x16, ToInt, F32x16, static_cast<int32_t>(x))
// Integers wrap, as vectors do; in C++ only unsigned ones may.
VERBATIM_LANES2(I32x16, Add, I32x16, I32x16,
                static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y)))
VERBATIM_LANES2(I32x16, Sub, I32x16, I32x16,
                static_cast<int32_t>(static_cast<uint32_t>(x) - static_cast<uint32_t>(y)))
VERBATIM_LANES2(I32x16, And, I32x16, I32x16, x& y)
VERBATIM_LANES2(I32x16, Or, I32x16, I32x16, x | y)
VERBATIM_LANES2(I32x16, Xor, I32x16, I32x16, x ^ y)
VERBATIM_LANES2(M32x16, Lt, F32x16, F32x16, x < y)
VERBATIM_LANES2(M32x16, Le, F32x16, F32x16, x <= y)
VERBATIM_LANES2(M32x16, Eq, F32x16, F32x16, x == y)
VERBATIM_LANES2(M32x16, Gt, I32x16, I32x16, x > y)
VERBATIM_LANES2(M32x16, Eq, I32x16, I32x16, x == y)
#undef VERBATIM_LANES1
#undef VERBATIM_LANES2

HWY_INLINE F32x16 Fma(F32x16 a, F32x16 b, F32x16 c) {
  F32x16 r;
  for (size_t i = 0; i < kLanes; ++i) r.v[i] = std::fma(a.v[i], b.v[i], c.v[i]);
  return r;
}
template <int kBits>
HWY_INLINE I32x16 ShiftLeft(I32x16 a) {
  for (int32_t& x : a.v) x = static_cast<int32_t>(static_cast<uint32_t>(x) << kBits);
  return a;
}
template <int kBits>
HWY_INLINE I32x16 ShiftRight(I32x16 a) {
  for (int32_t& x : a.v) x >>= kBits;
  return a;
}
template <int kBits>
HWY_INLINE I32x16 ShiftRightLogical(I32x16 a) {
  for (int32_t& x : a.v) x = static_cast<int32_t>(static_cast<uint32_t>(x) >> kBits);
  return a;
}
HWY_INLINE F32x16 Select(M32x16 m, F32x16 yes, F32x16 no) {
  for (size_t i = 0; i < kLanes; ++i) no.v[i] = m.v[i] ? yes.v[i] : no.v[i];
  return no;
}
HWY_INLINE I32x16 Select(M32x16 m, I32x16 yes, I32x16 no) {
  for (size_t i = 0; i < kLanes; ++i) no.v[i] = m.v[i] ? yes.v[i] : no.v[i];
  return no;
}
HWY_INLINE int32_t ReduceMax(I32x16 a) {
  int32_t max = a.v[0];
  for (const int32_t x : a.v) max = x > max ? x : max;
  return max;
}
HWY_INLINE int32_t ReduceSum(I32x16 a) {
  int32_t sum = 0;
  for (const int32_t x : a.v) sum += x;
  return sum;
}
HWY_INLINE F32x16 LoadBf16(const uint16_t* p) {
  F32x16 r;
  for (size_t i = 0; i < kLanes; ++i) r.v[i] = Bf16ToFloat(p[i]);
  return r;
}
HWY_INLINE F32x16 LoadF16(const uint16_t* p) {
  F32x16 r;
  for (size_t i = 0; i < kLanes; ++i) r.v[i] = F16ToFloat(p[i]);
  return r;
}
HWY_INLINE void LoadBf16Pairs(const uint16_t* p, F32x16& even, F32x16& odd) {
  for (size_t i = 0; i < kLanes; ++i) {
    even.v[i] = Bf16ToFloat(p[2 * i]);
    odd.v[i] = Bf16ToFloat(p[2 * i + 1]);
  }
}
HWY_INLINE void LoadF16Pairs(const uint16_t* p, F32x16& even, F32x16& odd) {
  for (size_t i = 0; i < kLanes; ++i) {
    even.v[i] = F16ToFloat(p[2 * i]);
    odd.v[i] = F16ToFloat(p[2 * i + 1]);
  }
}
HWY_INLINE void StoreBf16(F32x16 a, uint16_t* p) {
  for (size_t i = 0; i < kLanes; ++i) p[i] = FloatToBf16(a.v[i]);
}
HWY_INLINE void StoreF16(F32x16 a, uint16_t* p) {
  for (size_t i = 0; i < kLanes; ++i) p[i] = FloatToF16(a.v[i]);
}
HWY_INLINE void StoreInt8(I32x16 a, int8_t* p) {
  for (size_t i = 0; i < kLanes; ++i) p[i] = static_cast<int8_t>(a.v[i]);
}
HWY_INLINE F32x16 LoadU8(const uint8_t* p) {
  F32x16 r;
  for (size_t i = 0; i < kLanes; ++i) r.v[i] = static_cast<float>(p[i]);
  return r;
}

#else  // Highway targets

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
using MF = hn::Mask<DF>;
inline constexpr size_t kPartLanes = HWY_MAX_BYTES / sizeof(float);
inline constexpr size_t kParts = kLanes / kPartLanes;  // 4 on NEON, 2 on AVX2, 1 on AVX-512

struct F32x16 {
  VF v[kParts];
};
struct I32x16 {
  VI v[kParts];
};
struct M32x16 {
  MF v[kParts];
};

// Defines R Name(A a, B b): part i is `expression` of x = a.v[i], y = b.v[i].
#define VERBATIM_PARTS1(R, Name, A, expression) \
  HWY_INLINE R Name(A a) {                      \
    R r;                                        \
    for (size_t i = 0; i < kParts; ++i) {       \
      const auto x = a.v[i];                    \
      r.v[i] = (expression);                    \
    }                                           \
    return r;                                   \
  }
#define VERBATIM_PARTS2(R, Name, A, B, expression) \
  HWY_INLINE R Name(A a, B b) {                    \
    R r;                                           \
    for (size_t i = 0; i < kParts; ++i) {          \
      const auto x = a.v[i];                       \
      const auto y = b.v[i];                       \
      r.v[i] = (expression);                       \
    }                                              \
    return r;                                      \
  }

HWY_INLINE F32x16 Set(float x) {
  F32x16 r;
  for (size_t i = 0; i < kParts; ++i) r.v[i] = hn::Set(DF(), x);
  return r;
}
HWY_INLINE I32x16 SetInt(int32_t x) {
  I32x16 r;
  for (size_t i = 0; i < kParts; ++i) r.v[i] = hn::Set(DI(), x);
  return r;
}
HWY_INLINE F32x16 Load(const float* p) {
  F32x16 r;
  for (size_t i = 0; i < kParts; ++i) r.v[i] = hn::LoadU(DF(), p + i * kPartLanes);
  return r;
}
HWY_INLINE void Store(F32x16 a, float* p) {
  for (size_t i = 0; i < kParts; ++i) hn::StoreU(a.v[i], DF(), p + i * kPartLanes);
}
HWY_INLINE I32x16 LoadInt(const int32_t* p) {
  I32x16 r;
  for (size_t i = 0; i < kParts; ++i) r.v[i] = hn::LoadU(DI(), p + i * kPartLanes);
  return r;
}
HWY_INLINE void StoreInt(I32x16 a, int32_t* p) {
  for (size_t i = 0; i < kParts; ++i) hn::StoreU(a.v[i], DI(), p + i * kPartLanes);
}
// The first n lanes in memory, n <= 16; the others are +0. Rare, so it goes through the stack.
HWY_INLINE F32x16 LoadN(const float* p, size_t n) {
  alignas(64) float lanes[kLanes] = {};
  std::memcpy(lanes, p, n * sizeof(float));
  return Load(lanes);
}
HWY_INLINE void StoreN(F32x16 a, float* p, size_t n) {
  alignas(64) float lanes[kLanes];
  Store(a, lanes);
  std::memcpy(p, lanes, n * sizeof(float));
}

VERBATIM_PARTS2(F32x16, Add, F32x16, F32x16, hn::Add(x, y))
VERBATIM_PARTS2(F32x16, Sub, F32x16, F32x16, hn::Sub(x, y))
VERBATIM_PARTS2(F32x16, Mul, F32x16, F32x16, hn::Mul(x, y))
VERBATIM_PARTS2(F32x16, Div, F32x16, F32x16, hn::Div(x, y))
VERBATIM_PARTS1(F32x16, Sqrt, F32x16, hn::Sqrt(x))
VERBATIM_PARTS1(F32x16, Rint, F32x16, hn::Round(x))  // ties to even
VERBATIM_PARTS1(I32x16, BitsOf, F32x16, hn::BitCast(DI(), x))
VERBATIM_PARTS1(F32x16, FromBits, I32x16, hn::BitCast(DF(), x))
VERBATIM_PARTS1(F32x16, ToFloat, I32x16, hn::ConvertTo(DF(), x))
// Defined for integral values in [-2^31, 2^31); other lanes differ between targets.
VERBATIM_PARTS1(I32x16, ToInt, F32x16, hn::ConvertTo(DI(), x))
VERBATIM_PARTS2(I32x16, Add, I32x16, I32x16, hn::Add(x, y))
VERBATIM_PARTS2(I32x16, Sub, I32x16, I32x16, hn::Sub(x, y))
VERBATIM_PARTS2(I32x16, And, I32x16, I32x16, hn::And(x, y))
VERBATIM_PARTS2(I32x16, Or, I32x16, I32x16, hn::Or(x, y))
VERBATIM_PARTS2(I32x16, Xor, I32x16, I32x16, hn::Xor(x, y))
// False if either lane is NaN.
VERBATIM_PARTS2(M32x16, Lt, F32x16, F32x16, hn::Lt(x, y))
VERBATIM_PARTS2(M32x16, Le, F32x16, F32x16, hn::Le(x, y))
VERBATIM_PARTS2(M32x16, Eq, F32x16, F32x16, hn::Eq(x, y))
VERBATIM_PARTS2(M32x16, Gt, I32x16, I32x16, hn::RebindMask(DF(), hn::Gt(x, y)))
VERBATIM_PARTS2(M32x16, Eq, I32x16, I32x16, hn::RebindMask(DF(), hn::Eq(x, y)))
#undef VERBATIM_PARTS1
#undef VERBATIM_PARTS2

// a * b + c, rounded once.
HWY_INLINE F32x16 Fma(F32x16 a, F32x16 b, F32x16 c) {
  F32x16 r;
  for (size_t i = 0; i < kParts; ++i) r.v[i] = hn::MulAdd(a.v[i], b.v[i], c.v[i]);
  return r;
}
template <int kBits>
HWY_INLINE I32x16 ShiftLeft(I32x16 a) {
  for (size_t i = 0; i < kParts; ++i) a.v[i] = hn::ShiftLeft<kBits>(a.v[i]);
  return a;
}
template <int kBits>
HWY_INLINE I32x16 ShiftRight(I32x16 a) {
  for (size_t i = 0; i < kParts; ++i) a.v[i] = hn::ShiftRight<kBits>(a.v[i]);
  return a;
}
template <int kBits>
HWY_INLINE I32x16 ShiftRightLogical(I32x16 a) {
  const hn::RebindToUnsigned<DI> du;
  for (size_t i = 0; i < kParts; ++i) {
    a.v[i] = hn::BitCast(DI(), hn::ShiftRight<kBits>(hn::BitCast(du, a.v[i])));
  }
  return a;
}
HWY_INLINE F32x16 Select(M32x16 m, F32x16 yes, F32x16 no) {
  for (size_t i = 0; i < kParts; ++i) no.v[i] = hn::IfThenElse(m.v[i], yes.v[i], no.v[i]);
  return no;
}
HWY_INLINE I32x16 Select(M32x16 m, I32x16 yes, I32x16 no) {
  for (size_t i = 0; i < kParts; ++i) {
    no.v[i] = hn::IfThenElse(hn::RebindMask(DI(), m.v[i]), yes.v[i], no.v[i]);
  }
  return no;
}
HWY_INLINE int32_t ReduceMax(I32x16 a) {
  VI max = a.v[0];
  for (size_t i = 1; i < kParts; ++i) max = hn::Max(max, a.v[i]);
  return hn::GetLane(hn::MaxOfLanes(DI(), max));
}
HWY_INLINE int32_t ReduceSum(I32x16 a) {
  VI sum = a.v[0];
  for (size_t i = 1; i < kParts; ++i) sum = hn::Add(sum, a.v[i]);
  return hn::GetLane(hn::SumOfLanes(DI(), sum));
}

// 16 consecutive values, widened exactly.
HWY_INLINE F32x16 LoadBf16(const uint16_t* p) {
  const hn::Rebind<uint16_t, DF> d16;
  F32x16 r;
  for (size_t i = 0; i < kParts; ++i) {
    const VI wide = hn::PromoteTo(DI(), hn::LoadU(d16, p + i * kPartLanes));
    r.v[i] = hn::BitCast(DF(), hn::ShiftLeft<16>(wide));
  }
  return r;
}
HWY_INLINE F32x16 LoadF16(const uint16_t* p) {
  const hn::Rebind<uint16_t, DF> d16;
  const hn::Rebind<hwy::float16_t, DF> dh;
  F32x16 r;
  for (size_t i = 0; i < kParts; ++i) {
    r.v[i] = hn::PromoteTo(DF(), hn::BitCast(dh, hn::LoadU(d16, p + i * kPartLanes)));
  }
  return r;
}
// 32 values [16][2]: lane i of `even` is p[2 * i], of `odd` p[2 * i + 1].
HWY_INLINE void LoadBf16Pairs(const uint16_t* p, F32x16& even, F32x16& odd) {
  const VI high = hn::Set(DI(), static_cast<int32_t>(0xffff0000u));
  for (size_t i = 0; i < kParts; ++i) {
    const VI both = hn::LoadU(DI(), reinterpret_cast<const int32_t*>(p) + i * kPartLanes);
    even.v[i] = hn::BitCast(DF(), hn::ShiftLeft<16>(both));
    odd.v[i] = hn::BitCast(DF(), hn::And(both, high));
  }
}
HWY_INLINE void LoadF16Pairs(const uint16_t* p, F32x16& even, F32x16& odd) {
  const hn::Rebind<uint16_t, DF> d16;
  const hn::Rebind<hwy::float16_t, DF> dh;
  const hn::RebindToUnsigned<DI> du;
  for (size_t i = 0; i < kParts; ++i) {
    const auto both = hn::LoadU(du, reinterpret_cast<const uint32_t*>(p) + i * kPartLanes);
    const auto low = hn::And(both, hn::Set(du, 0xffffu));
    const auto high = hn::ShiftRight<16>(both);
    even.v[i] = hn::PromoteTo(DF(), hn::BitCast(dh, hn::DemoteTo(d16, hn::BitCast(DI(), low))));
    odd.v[i] = hn::PromoteTo(DF(), hn::BitCast(dh, hn::DemoteTo(d16, hn::BitCast(DI(), high))));
  }
}
// Round to nearest even; NaN becomes 0x7fc0 (numerics.md 0).
HWY_INLINE void StoreBf16(F32x16 a, uint16_t* p) {
  const hn::Rebind<uint16_t, DF> d16;
  for (size_t i = 0; i < kParts; ++i) {
    const VI bits = hn::BitCast(DI(), a.v[i]);
    const VI lowest = hn::And(hn::ShiftRight<16>(bits), hn::Set(DI(), 1));
    const VI rounded = hn::Add(bits, hn::Add(lowest, hn::Set(DI(), 0x7fff)));
    const VI value =
        hn::IfThenElse(hn::RebindMask(DI(), hn::IsNaN(a.v[i])), hn::Set(DI(), 0x7fc00000), rounded);
    const hn::RebindToUnsigned<DI> du;
    const auto high = hn::ShiftRight<16>(hn::BitCast(du, value));
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(DI(), high)), d16, p + i * kPartLanes);
  }
}
// Round to nearest even; NaN becomes 0x7e00.
HWY_INLINE void StoreF16(F32x16 a, uint16_t* p) {
  const hn::Rebind<uint16_t, DF> d16;
  const hn::Rebind<hwy::float16_t, DF> dh;
  for (size_t i = 0; i < kParts; ++i) {
    const VF one_nan =
        hn::IfThenElse(hn::IsNaN(a.v[i]), hn::BitCast(DF(), hn::Set(DI(), 0x7fc00000)), a.v[i]);
    hn::StoreU(hn::BitCast(d16, hn::DemoteTo(dh, one_nan)), d16, p + i * kPartLanes);
  }
}
// Lanes must be in [-128, 127].
HWY_INLINE void StoreInt8(I32x16 a, int8_t* p) {
  const hn::Rebind<int8_t, DF> d8;
  for (size_t i = 0; i < kParts; ++i) {
    hn::StoreU(hn::DemoteTo(d8, a.v[i]), d8, p + i * kPartLanes);
  }
}
HWY_INLINE F32x16 LoadU8(const uint8_t* p) {
  const hn::Rebind<uint8_t, DF> d8;
  F32x16 r;
  for (size_t i = 0; i < kParts; ++i) {
    r.v[i] = hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(d8, p + i * kPartLanes)));
  }
  return r;
}

#endif  // HWY_TARGET

// What follows is made of the operations above.

HWY_INLINE F32x16 Zero() { return Set(0.0f); }
HWY_INLINE F32x16 Neg(F32x16 a) {
  return FromBits(Xor(BitsOf(a), SetInt(static_cast<int32_t>(0x80000000u))));
}
HWY_INLINE F32x16 Abs(F32x16 a) { return FromBits(And(BitsOf(a), SetInt(0x7fffffff))); }
// The magnitude of `a` with the sign of `sign`.
HWY_INLINE F32x16 CopySign(F32x16 a, F32x16 sign) {
  const I32x16 sign_bit = SetInt(static_cast<int32_t>(0x80000000u));
  return FromBits(Or(And(BitsOf(a), SetInt(0x7fffffff)), And(BitsOf(sign), sign_bit)));
}
// a < b ? b : a, so that a NaN in b is ignored and one in a stays. Not the processor's max.
HWY_INLINE F32x16 MaxKeepFirst(F32x16 a, F32x16 b) { return Select(Lt(a, b), b, a); }
HWY_INLINE I32x16 MaxInt(I32x16 a, I32x16 b) { return Select(Gt(a, b), a, b); }

// The end of a row reduction (numerics.md 4): lanes added by halves, l[i] += l[i + 8], ... l[0] +=
// l[1].
HWY_INLINE float SumByHalves(F32x16 a) {
  alignas(64) float lanes[kLanes];
  Store(a, lanes);
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_SIMD_INL_H_
