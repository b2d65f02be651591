// LinearKernels: the functions of one target for linears and embeddings, and the views that they
// read. Not the packing (packed_linear.h) and not the cutting of a call into tasks (linear.h).
#ifndef VERBATIM_BACKEND_CPU_LINEAR_KERNELS_H_
#define VERBATIM_BACKEND_CPU_LINEAR_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/targets.h"
#include "checkpoint/weights.h"

namespace verbatim::cpu {

inline constexpr int kTileOutputs = 16;  // output features of a tile: one lane each
inline constexpr int kNumSegments = 8;   // numerics.md 1
inline constexpr int kChunk = 32;      // values of K of a dense group, and of one run of byte dots
inline constexpr int kMaxRowTile = 8;  // rows that share one pass over a tile of weights, at most

// One tile run of a linear for one row tile of R rows.
struct LinearTile {
  const std::byte* weights = nullptr;  // packed, first tile of the run
  int64_t tile_bytes = 0;              // from one tile to the next
  int num_tiles = 0;
  int64_t num_groups = 0;  // of K (dense: of 32)
  int group_size = 0;
  WeightType scale_type = WeightType::kBF16;
  // Affine: int8 [K / 4][R][4] and per group [R] sx, [R] sumx. Dense: f32 [Kpad / 2][R][2].
  const int8_t* xq = nullptr;
  const float* x_scales = nullptr;  // [num_groups][2][R]
  const float* x = nullptr;
  float* out = nullptr;             // row 0 of the row tile, first output of the run
  const float* residual = nullptr;  // or null
  int64_t out_stride = 0;
  int64_t num_outputs = 0;  // that exist in the run; the last tile may be partial
};

using LinearTileKernel = void (*)(const LinearTile& tile);

// Quantizes one row (numerics.md 2) into the interleaved form of a row tile: xq of value k goes to
// xq[(k / 4) * 4 * R + k % 4], sx and sumx of group g to x_scales[2 * R * g] and x_scales[2 * R * g
// + R].
using QuantizeRowKernel = void (*)(const float* x, int64_t num_groups, int group_size, int row_tile,
                                   int8_t* xq, float* x_scales);

// Dequantizes output feature `lane` of a packed tile: out [K] f32.
using EmbedRowKernel = void (*)(const std::byte* tile, int lane, int64_t num_values, int group_size,
                                WeightType scale_type, float* out);

struct LinearKernels {
  // [index][R - 1]; entries above the target's largest row tile are null.
  std::array<std::array<LinearTileKernel, kMaxRowTile>, 9> affine =
      {};  // index is the number of bits
  std::array<std::array<LinearTileKernel, kMaxRowTile>, 3> dense = {};  // index is the WeightType
  QuantizeRowKernel quantize_row = nullptr;
  std::array<EmbedRowKernel, 9> embed_affine = {};
  std::array<EmbedRowKernel, 3> embed_dense = {};
};

// One per kernel file; each fills its own entries for one target.
void FillLinearAffine2(Target target, LinearKernels& kernels);
void FillLinearAffine3(Target target, LinearKernels& kernels);
void FillLinearAffine4(Target target, LinearKernels& kernels);
void FillLinearAffine5(Target target, LinearKernels& kernels);
void FillLinearAffine6(Target target, LinearKernels& kernels);
void FillLinearAffine8(Target target, LinearKernels& kernels);
void FillLinearDense(Target target, LinearKernels& kernels);
void FillQuantizeRow(Target target, LinearKernels& kernels);
void FillEmbed(Target target, LinearKernels& kernels);

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_LINEAR_KERNELS_H_
