// Linears with 16- and 32-bit weights (numerics.md 1 and 3), for every target.
#include "backend/cpu/simd_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/linear_dense.cc"
#include "hwy/foreach_target.h"
// The above must come first.
#include "backend/cpu/linear_tile-inl.h"
#include "backend/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

// 16 outputs of an even and the next odd k.
template <WeightType kType>
HWY_INLINE void LoadPair(const std::byte* p, F32x16& even, F32x16& odd) {
  if constexpr (kType == WeightType::kBF16) {
    LoadBf16Pairs(reinterpret_cast<const uint16_t*>(p), even, odd);
  } else if constexpr (kType == WeightType::kF16) {
    even = LoadF16(reinterpret_cast<const uint16_t*>(p));
    odd = LoadF16(reinterpret_cast<const uint16_t*>(p) + kLanes);
  } else {
    even = Load(reinterpret_cast<const float*>(p));
    odd = Load(reinterpret_cast<const float*>(p) + kLanes);
  }
}

// One tile after the other, so that weights are one stream from front to back. Even for one row the
// two chains (two fma every 4 cycles, 64 bytes) outrun a core's memory: about 60 GB/s.
template <WeightType kType, int R>
void DenseTile(const LinearTile& tile) {
  constexpr int kPairBytes = 2 * kTileOutputs * (kType == WeightType::kF32 ? 4 : 2);
  constexpr int kPairsPerGroup = kChunk / 2;
  for (int index = 0; index < tile.num_tiles; ++index) {
    const std::byte* weights = tile.weights + index * tile.tile_bytes;
    const float* x = tile.x;
    F32x16 segment[kNumSegments][R];
    int64_t group = 0;
    for (int s = 0; s < kNumSegments; ++s) {
      F32x16 even[R], odd[R];
      for (int r = 0; r < R; ++r) even[r] = odd[r] = Zero();
      const int64_t end = tile.num_groups * (s + 1) / kNumSegments;
      const int64_t num_pairs = (end - group) * kPairsPerGroup;
      group = end;
      for (int64_t pair = 0; pair < num_pairs; ++pair) {
        F32x16 w_even, w_odd;
        for (int line = 0; line < kPairBytes; line += kCacheLine) PrefetchAhead(weights + line);
        LoadPair<kType>(weights, w_even, w_odd);
        for (int r = 0; r < R; ++r) {
          even[r] = Fma(Set(x[2 * r]), w_even, even[r]);
          odd[r] = Fma(Set(x[2 * r + 1]), w_odd, odd[r]);
        }
        weights += kPairBytes;
        x += 2 * R;
      }
      for (int r = 0; r < R; ++r) segment[s][r] = Add(even[r], odd[r]);
    }
    FinishTile<R>(segment, tile, index);
  }
}

template <WeightType kType, int R = 1>
void FillDenseRows(LinearKernels& kernels) {
  if constexpr (R <= kDenseRowTile) {
    kernels.dense[static_cast<size_t>(kType)][R - 1] = DenseTile<kType, R>;
    FillDenseRows<kType, R + 1>(kernels);
  }
}

void FillLinearDense(bool /*int8_dot*/, LinearKernels& kernels) {
  FillDenseRows<WeightType::kF32>(kernels);
  FillDenseRows<WeightType::kBF16>(kernels);
  FillDenseRows<WeightType::kF16>(kernels);
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_LINEAR_FILL(FillLinearDense)
}  // namespace verbatim::cpu
#endif
