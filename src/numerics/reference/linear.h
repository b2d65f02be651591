// The scalar reference of linears and embeddings (numerics.md 1, 2, 3, 8) over plain row-major
// matrices. Never fast: kernels are compared with it.
#ifndef VERBATIM_NUMERICS_REFERENCE_LINEAR_H_
#define VERBATIM_NUMERICS_REFERENCE_LINEAR_H_

#include <cstdint>
#include <span>
#include <vector>

namespace verbatim::reference {

// One activation row in int8, per group of `group` values: x ~ scale * value.
struct QuantizedRow {
  std::vector<int8_t> values;  // [cols], |value| <= 127
  std::vector<float> scale;    // sx, [cols / group]
  std::vector<float> sum;      // sumx = sx * sum of the group's values, [cols / group]
};

// x.size() is a multiple of `group`. A group with an infinity or NaN has scale and sum NaN; one
// whose largest |x| is below 2^-100 has scale and sum +0; both have values 0.
QuantizedRow QuantizeRow(std::span<const float> x, int group);

// w = scale * q + bias per group of consecutive columns (MLX affine); cols is a multiple of group.
struct AffineMatrix {
  int64_t rows = 0;
  int64_t cols = 0;
  int group = 0;
  std::vector<uint8_t> q;    // [rows * cols]
  std::vector<float> scale;  // [rows * cols / group], widened from the file's 16-bit type
  std::vector<float> bias;   // [rows * cols / group]
};

struct DenseMatrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> w;  // [rows * cols], widened exactly
};

// y = x * w^T; x [m, cols], y [m, rows].
void LinearAffine(const AffineMatrix& w, const float* x, int64_t m, float* y);
void LinearDense(const DenseMatrix& w, const float* x, int64_t m, float* y);

// y[i] += residual[i] (residual or bias of a linear): one add after the segments.
void AddResidual(const float* residual, int64_t n, float* y);

// Row `row` of an embedding table, out [cols].
void EmbedRow(const AffineMatrix& table, int64_t row, float* out);
void EmbedRow(const DenseMatrix& table, int64_t row, float* out);

}  // namespace verbatim::reference

#endif  // VERBATIM_NUMERICS_REFERENCE_LINEAR_H_
