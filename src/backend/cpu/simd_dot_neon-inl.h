// The integer dots of simd_dot-inl.h on NEON, without and with the dot product extension. Not for
// other targets.
#if defined(VERBATIM_BACKEND_CPU_SIMD_DOT_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_SIMD_DOT_NEON_INL_H_
#undef VERBATIM_BACKEND_CPU_SIMD_DOT_NEON_INL_H_
#else
#define VERBATIM_BACKEND_CPU_SIMD_DOT_NEON_INL_H_
#endif

#include "backend/cpu/simd_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_NEON

// NEON multiplies signed bytes with signed bytes. Weights of up to 6 bits are both; 8 bits are two
// 4-bit digits, sum = low + 16 * high, which needs no offset and never saturates.
template <int kBits>
inline constexpr int kNeonDigits = kBits == 8 ? 2 : 1;

// The digits of 16 weight bytes: 4 outputs, 4 values of K each.
template <int kBits>
struct NeonDigits {
  explicit HWY_INLINE NeonDigits(Bytes w) {
    if constexpr (kBits == 8) {
      v[0] = vreinterpretq_s8_u8(ShiftAndMask<0, 0x0f>(w).raw);
      v[1] = vreinterpretq_s8_u8(vshrq_n_u8(w.raw, 4));
    } else {
      v[0] = vreinterpretq_s8_u8(w.raw);
    }
  }
  int8x16_t v[kNeonDigits<kBits>];
};

// A row's 4 activation bytes, four times.
HWY_INLINE int8x16_t NeonActivations(const int8_t* x) {
  int32_t four;
  std::memcpy(&four, x, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

HWY_INLINE int32x4_t SumOfDigits(const int32x4_t (&sum)[1]) { return sum[0]; }
HWY_INLINE int32x4_t SumOfDigits(const int32x4_t (&sum)[2]) {
  return vaddq_s32(sum[0], vshlq_n_s32(sum[1], 4));
}

// ARMv8.0: products in s16, one per lane and block. With |x| <= 127 a product of a b-bit digit is
// at most 127 * (2^b - 1), so s16 holds the 8 of a chunk for b <= 5 (31496) and 4 for b = 6
// (32004).
template <int kBits, int R>
class WideningDot {
 public:
  static constexpr int kDigits = kNeonDigits<kBits>;
  static constexpr int kDigitBits = kBits / kDigits;
  static constexpr int kMaxProducts = kDigitBits <= 5 ? 8 : 4;
  static_assert(kMaxProducts * 127 * ((1 << kDigitBits) - 1) <= 32767);

  HWY_INLINE void Clear() {
    for (int r = 0; r < R; ++r) {
      for (int32x4_t& sum : sum_[r]) sum = vdupq_n_s32(0);
    }
  }
  template <int kBlock>
  HWY_INLINE void Block(Bytes w, const int8_t* x) {
    const NeonDigits<kBits> weights(w);
    for (int r = 0; r < R; ++r) {
      const int8x16_t activations = NeonActivations(x + 4 * r);
      for (int d = 0; d < kDigits; ++d) {
        int16x8_t& low = low_[r][d];    // outputs 0 and 1
        int16x8_t& high = high_[r][d];  // outputs 2 and 3
        const int8x8_t low_weights = vget_low_s8(weights.v[d]);
        const int8x8_t half = vget_low_s8(activations);
        if constexpr (kBlock % kMaxProducts == 0) {
          low = vmull_s8(low_weights, half);
          high = vmull_high_s8(weights.v[d], activations);
        } else {
          low = vmlal_s8(low, low_weights, half);
          high = vmlal_high_s8(high, weights.v[d], activations);
        }
        if constexpr ((kBlock + 1) % kMaxProducts == 0) {
          const int32x4_t quads = vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
          sum_[r][d] = vaddq_s32(sum_[r][d], quads);
        }
      }
    }
  }
  HWY_INLINE VI Sum(int r) const { return VI{SumOfDigits(sum_[r])}; }

 private:
  int16x8_t low_[R][kDigits];
  int16x8_t high_[R][kDigits];
  int32x4_t sum_[R][kDigits];
};

// With FEAT_DotProd (hwcap asimddp), by its instruction: no Highway target is NEON plus it, and an
// intrinsic would need the attribute on every function around it.
template <int kBits, int R>
class SdotDot {
 public:
  static constexpr int kDigits = kNeonDigits<kBits>;
  // sdot has 3 to 4 cycles of latency and starts twice a cycle: few rows need several chains each.
  static constexpr int kChains = R <= 2 ? 4 : R <= 4 ? 2 : 1;

  HWY_INLINE void Clear() {
    for (int r = 0; r < R; ++r) {
      for (auto& chain : sum_[r]) {
        for (int32x4_t& sum : chain) sum = vdupq_n_s32(0);
      }
    }
  }
  template <int kBlock>
  HWY_INLINE void Block(Bytes w, const int8_t* x) {
    const NeonDigits<kBits> weights(w);
    for (int r = 0; r < R; ++r) {
      const int8x16_t activations = NeonActivations(x + 4 * r);
      for (int d = 0; d < kDigits; ++d) {
        // The directive is for the assembler alone: the compiler still emits ARMv8.0.
        asm(".arch armv8.2-a+dotprod\n\tsdot %0.4s, %1.16b, %2.16b"
            : "+w"(sum_[r][kBlock % kChains][d])
            : "w"(weights.v[d]), "w"(activations));
      }
    }
  }
  HWY_INLINE VI Sum(int r) const {
    int32x4_t sum = SumOfDigits(sum_[r][0]);
    for (int c = 1; c < kChains; ++c) sum = vaddq_s32(sum, SumOfDigits(sum_[r][c]));
    return VI{sum};
  }

 private:
  int32x4_t sum_[R][kChains][kDigits];
};

#endif  // HWY_NEON

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_SIMD_DOT_NEON_INL_H_
