// What dense and affine tile kernels share: rows per tile, the tree over segments, the store. Not a
// kernel.
#if defined(VERBATIM_BACKEND_CPU_LINEAR_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_LINEAR_TILE_INL_H_
#undef VERBATIM_BACKEND_CPU_LINEAR_TILE_INL_H_
#else
#define VERBATIM_BACKEND_CPU_LINEAR_TILE_INL_H_
#endif

#include <algorithm>

#include "backend/cpu/linear_kernels.h"
#include "backend/cpu/simd-inl.h"
#include "base/aligned_buffer.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

// The largest row tiles of the target's routes; ops/routes.cc says why.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kAffineRowTile = 8;
inline constexpr int kDenseRowTile = 8;
#else
inline constexpr int kAffineRowTile = 4;
inline constexpr int kDenseRowTile = 2;
#endif

// Weights are one stream, so what comes next is known: a core's memory has some 100 ns of latency,
// which at 20 GB/s are 2 KiB.
inline constexpr int64_t kPrefetchBytes = 2048;
HWY_INLINE void PrefetchAhead(const std::byte* p) { __builtin_prefetch(p + kPrefetchBytes, 0, 3); }

HWY_INLINE F32x16 LoadScales(const std::byte* p, WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return Load(reinterpret_cast<const float*>(p));
    case WeightType::kF16:
      return LoadF16(reinterpret_cast<const uint16_t*>(p));
    default:
      return LoadBf16(reinterpret_cast<const uint16_t*>(p));
  }
}

HWY_INLINE int64_t ScaleBytes(WeightType type) {  // of the 16 outputs of a tile
  return kTileOutputs * (type == WeightType::kF32 ? 4 : 2);
}

// Adds the segments (numerics.md 1), then the residual, and stores the outputs of tile `index` that
// exist.
template <int R>
HWY_INLINE void FinishTile(const F32x16 (&segment)[kNumSegments][R], const LinearTile& tile,
                           int index) {
  const int64_t first = int64_t{kTileOutputs} * index;
  const size_t count =
      static_cast<size_t>(std::min<int64_t>(kTileOutputs, tile.num_outputs - first));
  for (int r = 0; r < R; ++r) {
    const F32x16 low = Add(Add(segment[0][r], segment[1][r]), Add(segment[2][r], segment[3][r]));
    const F32x16 high = Add(Add(segment[4][r], segment[5][r]), Add(segment[6][r], segment[7][r]));
    F32x16 sum = Add(low, high);
    const int64_t place = r * tile.out_stride + first;
    if (count == kLanes) {
      if (tile.residual != nullptr) sum = Add(sum, Load(tile.residual + place));
      Store(sum, tile.out + place);
    } else {
      if (tile.residual != nullptr) sum = Add(sum, LoadN(tile.residual + place, count));
      StoreN(sum, tile.out + place, count);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_LINEAR_TILE_INL_H_
