// The scalar reference of linears and embeddings; see linear.h.
#include "numerics/reference/linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "numerics/segments.h"

namespace verbatim::reference {

QuantizedRow QuantizeRow(std::span<const float> x, int group) {
  QuantizedRow row;
  row.values.resize(x.size());
  for (size_t begin = 0; begin < x.size(); begin += group) {
    uint32_t largest_bits = 0;  // of |x|: NaN > inf > finite
    for (int i = 0; i < group; ++i) {
      largest_bits = std::max(largest_bits, std::bit_cast<uint32_t>(x[begin + i]) & 0x7fffffffu);
    }
    const float a = std::bit_cast<float>(largest_bits);
    if (largest_bits >= 0x7f800000u || a < 0x1p-100f) {
      const float all = a < 0x1p-100f ? 0.0f : std::numeric_limits<float>::quiet_NaN();
      row.scale.push_back(all);
      row.sum.push_back(all);
      continue;
    }
    const float inverse = 127.0f / a;
    int32_t sum = 0;
    for (int i = 0; i < group; ++i) {
      const int32_t value = static_cast<int32_t>(std::rint(x[begin + i] * inverse));
      row.values[begin + i] = static_cast<int8_t>(value);
      sum += value;
    }
    row.scale.push_back(a / 127.0f);
    row.sum.push_back(row.scale.back() * static_cast<float>(sum));
  }
  return row;
}

void LinearAffine(const AffineMatrix& w, const float* x, int64_t m, float* y) {
  const int64_t groups = w.cols / w.group;
  for (int64_t r = 0; r < m; ++r) {
    const QuantizedRow row = QuantizeRow({x + r * w.cols, static_cast<size_t>(w.cols)}, w.group);
    for (int64_t n = 0; n < w.rows; ++n) {
      float segment[kSegments];
      for (int s = 0; s < kSegments; ++s) {
        float acc = 0.0f;
        for (int64_t g = SegmentBegin(groups, s); g < SegmentBegin(groups, s + 1); ++g) {
          int32_t dot = 0;
          for (int64_t k = g * w.group; k < (g + 1) * w.group; ++k) {
            dot += int32_t{w.q[n * w.cols + k]} * row.values[k];
          }
          const float scale = w.scale[n * groups + g] * row.scale[g];
          acc = std::fma(scale, static_cast<float>(dot), acc);
          acc = std::fma(w.bias[n * groups + g], row.sum[g], acc);
        }
        segment[s] = acc;
      }
      y[r * w.rows + n] = CombineSegments(segment);
    }
  }
}

void LinearDense(const DenseMatrix& w, const float* x, int64_t m, float* y) {
  const int64_t groups = DenseGroups(w.cols);
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t n = 0; n < w.rows; ++n) {
      float segment[kSegments];
      for (int s = 0; s < kSegments; ++s) {
        float chain[2] = {0.0f, 0.0f};  // even and odd k
        for (int64_t k = SegmentBegin(groups, s) * kDenseGroup;
             k < SegmentBegin(groups, s + 1) * kDenseGroup; ++k) {
          const bool padding = k >= w.cols;
          const float a = padding ? 0.0f : x[r * w.cols + k];
          const float b = padding ? 0.0f : w.w[n * w.cols + k];
          chain[k % 2] = std::fma(a, b, chain[k % 2]);
        }
        segment[s] = chain[0] + chain[1];
      }
      y[r * w.rows + n] = CombineSegments(segment);
    }
  }
}

void AddResidual(const float* residual, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] + residual[i];
}

void EmbedRow(const AffineMatrix& table, int64_t row, float* out) {
  for (int64_t k = 0; k < table.cols; ++k) {
    const int64_t g = (row * table.cols + k) / table.group;
    out[k] =
        std::fma(table.scale[g], static_cast<float>(table.q[row * table.cols + k]), table.bias[g]);
  }
}

void EmbedRow(const DenseMatrix& table, int64_t row, float* out) {
  std::copy_n(table.w.begin() + row * table.cols, table.cols, out);
}

}  // namespace verbatim::reference
