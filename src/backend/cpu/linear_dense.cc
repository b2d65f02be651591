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

// kTiles tiles at once: each has two chains per row, and an fma has 4 cycles of latency at one or
// two starts a cycle.
template <WeightType kType, int R, int kTiles>
HWY_INLINE void DenseTiles(const LinearTile& tile, int index) {
  constexpr int kPairBytes = 2 * kTileOutputs * (kType == WeightType::kF32 ? 4 : 2);
  constexpr int kPairsPerGroup = kChunk / 2;
  const std::byte* weights = tile.weights + index * tile.tile_bytes;
  const float* x = tile.x;
  F32x16 segment[kTiles][kNumSegments][R];
  for (int s = 0; s < kNumSegments; ++s) {
    const int64_t num_groups =
        tile.num_groups * (s + 1) / kNumSegments - tile.num_groups * s / kNumSegments;
    F32x16 even[kTiles][R], odd[kTiles][R];
    for (int t = 0; t < kTiles; ++t) {
      for (int r = 0; r < R; ++r) even[t][r] = odd[t][r] = Zero();
    }
    for (int64_t pair = 0; pair < num_groups * kPairsPerGroup; ++pair) {
      for (int t = 0; t < kTiles; ++t) {
        F32x16 w_even, w_odd;
        LoadPair<kType>(weights + t * tile.tile_bytes, w_even, w_odd);
        for (int r = 0; r < R; ++r) {
          even[t][r] = Fma(Set(x[2 * r]), w_even, even[t][r]);
          odd[t][r] = Fma(Set(x[2 * r + 1]), w_odd, odd[t][r]);
        }
      }
      weights += kPairBytes;
      x += 2 * R;
    }
    for (int t = 0; t < kTiles; ++t) {
      for (int r = 0; r < R; ++r) segment[t][s][r] = Add(even[t][r], odd[t][r]);
    }
  }
  for (int t = 0; t < kTiles; ++t) FinishTile<R>(segment[t], tile, index + t);
}

// Tiles at once: as many as give 8 chains, within the registers.
template <int R>
constexpr int TilesAtOnce() {
#if HWY_TARGET == HWY_AVX3
  return R == 1 ? 4 : R == 2 ? 2 : 1;
#elif HWY_TARGET == HWY_AVX2
  return R == 1 ? 2 : 1;
#else
  return 1;
#endif
}

template <WeightType kType, int R>
void DenseTile(const LinearTile& tile) {
  constexpr int kTiles = TilesAtOnce<R>();
  int index = 0;
  for (; index + kTiles <= tile.num_tiles; index += kTiles) {
    DenseTiles<kType, R, kTiles>(tile, index);
  }
  if constexpr (kTiles > 1) {
    for (; index < tile.num_tiles; ++index) DenseTiles<kType, R, 1>(tile, index);
  }
}

template <WeightType kType, int R = 1>
void FillDenseRows(LinearKernels& kernels) {
  if constexpr (R <= kTargetRowTile) {
    kernels.dense[static_cast<size_t>(kType)][R - 1] = DenseTile<kType, R>;
    FillDenseRows<kType, R + 1>(kernels);
  }
}

void FillLinearDense(bool /*vnni*/, LinearKernels& kernels) {
  kernels.max_row_tile = kTargetRowTile;
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
