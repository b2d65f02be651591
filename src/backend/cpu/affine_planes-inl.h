// The blocks of a chunk of affine weights, unpacked from their bit planes (pack.h) into bytes. Not
// the dots.
#if defined(VERBATIM_BACKEND_CPU_AFFINE_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_AFFINE_PLANES_INL_H_
#undef VERBATIM_BACKEND_CPU_AFFINE_PLANES_INL_H_
#else
#define VERBATIM_BACKEND_CPU_AFFINE_PLANES_INL_H_
#endif

#include "backend/cpu/simd_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

inline constexpr int kBlocksPerChunk = 8;  // of 4 values of K
inline constexpr int kVectorBytes = 64;

// Width of the plane that holds the low bits; the rest, if any, is a second plane.
constexpr int LowPlaneBits(int bits) { return bits == 8 ? 8 : bits >= 4 ? 4 : 2; }

// Block kBlock of a plane of kWidth bits, its bits moved up by kLow.
template <int kWidth, int kLow, int kBlock>
HWY_INLINE Bytes PlaneBlock(const std::byte* plane) {
  const Bytes vector = LoadBytes(plane + kBlock % kWidth * kVectorBytes);
  if constexpr (kWidth == 8) {
    return vector;
  } else {
    return ShiftAndMask<kBlock / kWidth * kWidth - kLow, ((1 << kWidth) - 1) << kLow>(vector);
  }
}

template <int kBits, int kBlock>
HWY_INLINE Bytes LoadBlock(const std::byte* chunk) {
  constexpr int kLow = LowPlaneBits(kBits);
  const Bytes low = PlaneBlock<kLow, 0, kBlock>(chunk);
  if constexpr (kBits == kLow) {
    return low;
  } else {
    return OrBytes(low, PlaneBlock<kBits - kLow, kLow, kBlock>(chunk + kLow * kVectorBytes));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_AFFINE_PLANES_INL_H_
