// Rows of an embedding table, read from the matrix that the tied head is packed in. For every
// target.
#include "backend/cpu/simd_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/embed.cc"
#include "hwy/foreach_target.h"
// The above must come first.
#include "backend/cpu/affine_planes-inl.h"
#include "backend/cpu/linear_tile-inl.h"
#include "backend/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

// One lane's 32 values of a chunk, in order. Words of 4 bytes instead of vectors of 64.
template <int kBits>
HWY_INLINE void LoadChunkLane(const std::byte* chunk, int lane, uint8_t* q) {
  constexpr int kLow = LowPlaneBits(kBits);
  uint32_t words[kBits];
  for (int j = 0; j < kBits; ++j) std::memcpy(&words[j], chunk + j * kVectorBytes + lane * 4, 4);
  for (int block = 0; block < kBlocksPerChunk; ++block) {
    const uint32_t low_mask = 0x01010101u * ((1u << kLow) - 1);
    uint32_t four = (words[block % kLow] >> (block / kLow * kLow)) & low_mask;
    if constexpr (kBits != kLow) {
      constexpr int kHigh = kBits - kLow;
      const uint32_t high_mask = 0x01010101u * ((1u << kHigh) - 1);
      four |= ((words[kLow + block % kHigh] >> (block / kHigh * kHigh)) & high_mask) << kLow;
    }
    std::memcpy(q + 4 * block, &four, 4);
  }
}

template <int kBits>
void EmbedAffineRow(const std::byte* tile, int lane, int64_t num_values, int group_size,
                    WeightType scale_type, float* out) {
  const int64_t scale_bytes = ScaleBytes(scale_type);
  for (int64_t k = 0; k < num_values; k += group_size) {
    alignas(64) float scales[kLanes], biases[kLanes];
    Store(LoadScales(tile, scale_type), scales);
    Store(LoadScales(tile + scale_bytes, scale_type), biases);
    tile += 2 * scale_bytes;
    const F32x16 scale = Set(scales[lane]);
    const F32x16 bias = Set(biases[lane]);
    for (int c = 0; c < group_size; c += kChunk) {
      uint8_t q[kChunk];
      LoadChunkLane<kBits>(tile, lane, q);
      Store(Fma(scale, LoadU8(q), bias), out + k + c);
      Store(Fma(scale, LoadU8(q + kLanes), bias), out + k + c + kLanes);
      tile += kBits * kVectorBytes;
    }
  }
}

template <WeightType kType>
void EmbedDenseRow(const std::byte* tile, int lane, int64_t num_values, int /*group_size*/,
                   WeightType /*scale_type*/, float* out) {
  for (int64_t k = 0; k < num_values; ++k) {
    if constexpr (kType == WeightType::kF32) {
      out[k] = reinterpret_cast<const float*>(tile)[k * kTileOutputs + lane];
    } else {
      const auto* halves = reinterpret_cast<const uint16_t*>(tile);
      out[k] = kType == WeightType::kF16
                   ? F16ToFloat(halves[k * kTileOutputs + lane])
                   : Bf16ToFloat(halves[(k / 2 * kTileOutputs + lane) * 2 + k % 2]);
    }
  }
}

void FillEmbed(bool /*int8_dot*/, LinearKernels& kernels) {
  kernels.embed_affine[2] = EmbedAffineRow<2>;
  kernels.embed_affine[3] = EmbedAffineRow<3>;
  kernels.embed_affine[4] = EmbedAffineRow<4>;
  kernels.embed_affine[5] = EmbedAffineRow<5>;
  kernels.embed_affine[6] = EmbedAffineRow<6>;
  kernels.embed_affine[8] = EmbedAffineRow<8>;
  kernels.embed_dense[static_cast<size_t>(WeightType::kF32)] = EmbedDenseRow<WeightType::kF32>;
  kernels.embed_dense[static_cast<size_t>(WeightType::kBF16)] = EmbedDenseRow<WeightType::kBF16>;
  kernels.embed_dense[static_cast<size_t>(WeightType::kF16)] = EmbedDenseRow<WeightType::kF16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_LINEAR_FILL(FillEmbed)
}  // namespace verbatim::cpu
#endif
