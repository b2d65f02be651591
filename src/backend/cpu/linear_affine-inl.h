// The kernel of affine linears (numerics.md 1 and 2), for any number of bits, rows and any integer
// dot. Instantiated per number of bits in linear_affine<bits>.cc.
#if defined(VERBATIM_BACKEND_CPU_LINEAR_AFFINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_LINEAR_AFFINE_INL_H_
#undef VERBATIM_BACKEND_CPU_LINEAR_AFFINE_INL_H_
#else
#define VERBATIM_BACKEND_CPU_LINEAR_AFFINE_INL_H_
#endif

#include "backend/cpu/affine_planes-inl.h"
#include "backend/cpu/linear_tile-inl.h"
#include "backend/cpu/simd_dot-inl.h"
#include "backend/cpu/simd_dot_neon-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

// Part `part` of the outputs.
template <int kBits, int R, bool kPrefetch, int kBlock, class Dot>
HWY_INLINE void AddBlocks(const std::byte* chunk, size_t part, const int8_t* xq, Dot& dot) {
  if constexpr (kBlock < kBlocksPerChunk) {
    if constexpr (kPrefetch && kBlock < kBits) {
      PrefetchAhead(chunk + kBlock * kVectorBytes);
    }
    dot.template Block<kBlock>(LoadBlock<kBits, kBlock>(chunk + part * kPartBytes),
                               xq + 4 * R * kBlock);
    AddBlocks<kBits, R, kPrefetch, kBlock + 1>(chunk, part, xq, dot);
  }
}

template <int kBits, int R, template <int, int> class Dot, bool kPrefetch>
void AffineTile(const LinearTile& tile) {
  const int chunks_per_group = tile.group_size / kChunk;
  const WeightType scale_type = tile.scale_type;
  const int64_t scale_bytes = ScaleBytes(scale_type);
  for (int index = 0; index < tile.num_tiles; ++index) {
    const std::byte* weights = tile.weights + index * tile.tile_bytes;
    const int8_t* xq = tile.xq;
    const float* x_scales = tile.x_scales;
    F32x16 segment[kNumSegments][R];
    int64_t group = 0;
    for (int s = 0; s < kNumSegments; ++s) {
      F32x16 acc[R];
      for (int r = 0; r < R; ++r) acc[r] = Zero();
      for (const int64_t end = tile.num_groups * (s + 1) / kNumSegments; group < end; ++group) {
        const F32x16 scale = LoadScales(weights, scale_type);
        const F32x16 bias = LoadScales(weights + scale_bytes, scale_type);
        weights += 2 * scale_bytes;
        I32x16 sum[R];
        for (size_t part = 0; part < kParts; ++part) {
          Dot<kBits, R> dot;
          dot.Clear();
          for (int c = 0; c < chunks_per_group; ++c) {
            AddBlocks<kBits, R, kPrefetch, 0>(weights + c * kBits * kVectorBytes, part,
                                              xq + c * kChunk * R, dot);
          }
          for (int r = 0; r < R; ++r) SetPart(sum[r], part, dot.Sum(r));
        }
        weights += chunks_per_group * kBits * kVectorBytes;
        xq += chunks_per_group * kChunk * R;
        for (int r = 0; r < R; ++r) {
          acc[r] = Fma(Mul(scale, Set(x_scales[r])), ToFloat(sum[r]), acc[r]);
          acc[r] = Fma(bias, Set(x_scales[R + r]), acc[r]);
        }
        x_scales += 2 * R;
      }
      for (int r = 0; r < R; ++r) segment[s][r] = acc[r];
    }
    FinishTile<R>(segment, tile, index);
  }
}

// Blocks over few bits ask ahead everywhere. One row leaves some processors time to look ahead by
// themselves, and with more than 4 bits asking has a price there: docs/decisions/0010.
template <int kBits, int R, template <int, int> class Dot>
LinearTileKernel ChooseAffineTile() {
  constexpr bool kAlways = kParts == 1 && kBits <= 4 && R > 1;
  if constexpr (kParts == 1 && !kAlways) {
    if (WaitsLongForMemory()) return AffineTile<kBits, R, Dot, true>;
  }
  return AffineTile<kBits, R, Dot, kAlways>;
}

template <int kBits, template <int, int> class Dot, int R = 1>
void FillAffineRows(LinearKernels& kernels) {
  if constexpr (R <= kAffineRowTile) {
    kernels.affine[kBits][R - 1] = ChooseAffineTile<kBits, R, Dot>();
    FillAffineRows<kBits, Dot, R + 1>(kernels);
  }
}

// `int8_dot`: with the instruction for it, on targets that have one.
template <int kBits>
void FillAffine(bool int8_dot, LinearKernels& kernels) {
#if HWY_TARGET == HWY_SCALAR
  (void)int8_dot;
  FillAffineRows<kBits, PlainDot>(kernels);
#elif HWY_TARGET == HWY_AVX3
  if (int8_dot) {
    FillAffineRows<kBits, VnniDot>(kernels);
  } else {
    FillAffineRows<kBits, WideningDot>(kernels);
  }
#elif HWY_TARGET == HWY_NEON
  if (int8_dot) {
    FillAffineRows<kBits, SdotDot>(kernels);
  } else {
    FillAffineRows<kBits, WideningDot>(kernels);
  }
#else
  (void)int8_dot;
  FillAffineRows<kBits, WideningDot>(kernels);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_LINEAR_AFFINE_INL_H_
