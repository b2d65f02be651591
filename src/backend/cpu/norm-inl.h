// SumOfSquares and RmsNormRow: the row reduction of numerics.md 4 on sixteen lanes, shared by the
// norms, rope_and_cache and the gated delta rule. Not the ops themselves.
#if defined(VERBATIM_BACKEND_CPU_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_NORM_INL_H_
#undef VERBATIM_BACKEND_CPU_NORM_INL_H_
#else
#define VERBATIM_BACKEND_CPU_NORM_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

inline constexpr int kReductionVectors = 4;  // 64 virtual lanes

// The first n <= 16 lanes in memory. LoadN and StoreN go through the stack, so whole vectors are
// told apart.
HWY_INLINE F32x16 LoadUpTo(const float* p, int64_t n) {
  return n >= static_cast<int64_t>(kLanes) ? Load(p) : LoadN(p, n);
}
HWY_INLINE void StoreUpTo(F32x16 a, float* p, int64_t n) {
  if (n >= static_cast<int64_t>(kLanes)) {
    Store(a, p);
  } else {
    StoreN(a, p, n);
  }
}

// Where a row does not fill the last 64, the lanes that have no element run fma(0, 0, acc): acc is
// +0 or positive (or NaN), so it does not change.
inline float SumOfSquares(const float* x, int64_t n) {
  F32x16 acc[kReductionVectors] = {Zero(), Zero(), Zero(), Zero()};
  constexpr int64_t kStep = kReductionVectors * kLanes;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (int j = 0; j < kReductionVectors; ++j) {
      const F32x16 v = Load(x + i + j * kLanes);
      acc[j] = Fma(v, v, acc[j]);
    }
  }
  for (int j = 0; i < n; i += kLanes, ++j) {
    const F32x16 v = LoadUpTo(x + i, n - i);
    acc[j] = Fma(v, v, acc[j]);
  }
  return SumByHalves(Add(Add(acc[0], acc[2]), Add(acc[1], acc[3])));
}

// r = 1 / sqrt(sum / n + eps)
inline float RmsScale(const float* x, int64_t n, float eps) {
  return 1.0f / std::sqrt(SumOfSquares(x, n) / static_cast<float>(n) + eps);
}

// y[i] = (x[i] * r) * w[i]; y may be x.
inline void RmsNormRow(const float* x, const float* w, int64_t n, float eps, float* y) {
  const F32x16 r = Set(RmsScale(x, n, eps));
  for (int64_t i = 0; i < n; i += kLanes) {
    StoreUpTo(Mul(Mul(LoadUpTo(x + i, n - i), r), LoadUpTo(w + i, n - i)), y + i, n - i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_NORM_INL_H_
