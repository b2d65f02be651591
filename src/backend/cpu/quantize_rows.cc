// Quantization of activations to int8 (numerics.md 2), for every target. Not the quantization of
// weights.
#include "backend/cpu/simd_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/quantize_rows.cc"
#include "hwy/foreach_target.h"
// The above must come first.
#include "backend/cpu/linear_kernels.h"
#include "backend/cpu/simd-inl.h"
#include "backend/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

inline constexpr int32_t kInfinityBits = 0x7f800000;
inline constexpr int32_t kNanBits = 0x7fc00000;
// 2^-100 has the exponent field 127 - 100 = 27.
inline constexpr int32_t kTinyBits = 27 << 23;

// 16 values into their places in the interleaved row tile: 4 bytes every 4 * row_tile.
HWY_INLINE void StoreInterleaved(I32x16 q, int row_tile, int8_t* out) {
  int8_t bytes[kLanes];
  StoreInt8(q, bytes);
  for (size_t i = 0; i < kLanes / 4; ++i) std::memcpy(out + 4 * i * row_tile, bytes + 4 * i, 4);
}

void QuantizeRow(const float* x, int64_t num_groups, int group_size, int row_tile, int8_t* xq,
                 float* x_scales) {
  const int vectors = group_size / static_cast<int>(kLanes);
  for (int64_t g = 0; g < num_groups; ++g) {
    const float* group = x + g * group_size;
    I32x16 largest = SetInt(0);
    for (int v = 0; v < vectors; ++v) {
      largest = MaxInt(largest, BitsOf(Abs(Load(group + v * kLanes))));
    }
    const int32_t bits = ReduceMax(largest);  // not negative, so the order is that of uint32
    const float a = std::bit_cast<float>(bits);
    float sx = 0.0f;
    float sumx = 0.0f;
    int8_t* out = xq + g * group_size * row_tile;
    if (bits >= kTinyBits && bits < kInfinityBits) {
      sx = a / 127.0f;
      const F32x16 inverse = Set(127.0f / a);
      I32x16 sum = SetInt(0);
      for (int v = 0; v < vectors; ++v) {
        const I32x16 q = ToInt(Rint(Mul(Load(group + v * kLanes), inverse)));
        sum = Add(sum, q);
        StoreInterleaved(q, row_tile, out + v * static_cast<int>(kLanes) * row_tile);
      }
      sumx = sx * static_cast<float>(ReduceSum(sum));
    } else {
      if (bits >= kInfinityBits) sx = sumx = std::bit_cast<float>(kNanBits);
      for (int v = 0; v < vectors; ++v) {
        StoreInterleaved(SetInt(0), row_tile, out + v * static_cast<int>(kLanes) * row_tile);
      }
    }
    x_scales[2 * row_tile * g] = sx;
    x_scales[2 * row_tile * g + row_tile] = sumx;
  }
}

void FillQuantizeRow(bool /*int8_dot*/, LinearKernels& kernels) {
  kernels.quantize_row = QuantizeRow;
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_LINEAR_FILL(FillQuantizeRow)
}  // namespace verbatim::cpu
#endif
