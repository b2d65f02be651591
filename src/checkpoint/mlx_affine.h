// The MLX affine format: packing, unpacking, dequantizing and the quantizer (qwen3_5.md 6.3). Not
// the packed form that kernels read.
//
// A row of `cols` values of b bits is a little-endian bit stream of cols*b/8 bytes: value j lies at
// bits [j*b, (j+1)*b), least significant first. For 2, 4 and 8 bits this is the same as filling u32
// words from their low end; for 3, 5 and 6 bits it is MLX's byte triples and quintuples.
// w = scale*q + bias, with one scale and bias per group along the row; a scale may be negative.
#ifndef VERBATIM_CHECKPOINT_MLX_AFFINE_H_
#define VERBATIM_CHECKPOINT_MLX_AFFINE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/quantization_config.h"
#include "checkpoint/weights.h"

namespace verbatim {

// One row: q has cols values, packed cols*bits/8 bytes; bits in {2,3,4,5,6,8}, cols a multiple of
// 32.
void UnpackAffineRow(std::span<const std::byte> packed, int bits, std::span<uint8_t> q);
void PackAffineRow(std::span<const uint8_t> q, int bits, std::span<std::byte> packed);

// All of an affine matrix, q[row * cols + col].
std::vector<uint8_t> UnpackAffine(const WeightMatrix& matrix);

// Element i of a tensor of scales, biases or dense weights, widened exactly. type is not kAffine.
float ReadFloat(std::span<const std::byte> data, WeightType type, size_t i);

// One row as binary32, cols values: fma(scale, q, bias) for affine (numerics.md 8, embed), else the
// widened values.
void DequantizeRow(const WeightMatrix& matrix, int64_t row, std::span<float> out);

// One group by MLX's rule, in binary32; values must be finite. scale and bias are before their
// rounding to the storage type, as MLX uses them for q.
void QuantizeAffineGroup(std::span<const float> values, int bits, std::span<uint8_t> q,
                         float* scale, float* bias);

// A quantized matrix that owns its bytes.
struct AffineMatrix {
  WeightFormat format;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<std::byte> data;    // [rows, cols * bits / 8]
  std::vector<std::byte> scales;  // [rows, cols / group_size] of format.scale_type
  std::vector<std::byte> biases;

  WeightMatrix View(std::string name) const;  // valid while this lives
};

// Scales are stored in the source's own 16- or 32-bit type (its scale type if it is affine), as MLX
// does. Errors: kInvalidArgument (cols not a multiple of the group), kCorrupt (a value that is not
// finite), naming the matrix.
Expected<AffineMatrix> QuantizeAffine(const WeightMatrix& source, AffineParameters parameters);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_MLX_AFFINE_H_
