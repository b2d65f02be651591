// linear: Y = X * W^T (+ residual), for dense and affine-quantized W. Not a general matrix product.
//
// Math          y[r][n] = sum_k x[r][k] * w[n][k], then + residual[r][n] if given (one add).
// Shapes        X [M, K] f32, W [N, K], Y and residual [M, N] f32. M >= 1, any K for dense weights
// (padded with
//               zeros to a multiple of 32), K a multiple of the group for affine ones.
// Association   numerics.md 1 (8 segments, pairwise tree), 2 (affine: int8 activations per group,
// exact integer
//               dot, two fma per group), 3 (dense: two chains, over even and odd k). A property of
//               W's shape.
// Row invariance  Y[r] is a function of X[r] alone. No route may depend on M other than through
// cost. Effects       none but Y. residual may alias Y.
#ifndef VERBATIM_OPS_LINEAR_H_
#define VERBATIM_OPS_LINEAR_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "checkpoint/weights.h"

namespace verbatim::ops {

// A weight matrix in the form that one backend's kernels read; made once by Backend::PrepareLinear.
class PreparedLinear {
 public:
  virtual ~PreparedLinear() = default;
  int64_t in_features() const { return in_features_; }    // K
  int64_t out_features() const { return out_features_; }  // N
  const WeightFormat& format() const { return format_; }
  virtual int64_t bytes() const = 0;  // memory that one pass over the weights reads

 protected:
  PreparedLinear(int64_t out_features, int64_t in_features, WeightFormat format)
      : out_features_(out_features), in_features_(in_features), format_(format) {}

 private:
  int64_t out_features_;
  int64_t in_features_;
  WeightFormat format_;
};

struct LinearTask {
  const PreparedLinear* weights = nullptr;
  float* out = nullptr;             // [M, N] f32
  int64_t out_stride = 0;           // floats between rows of out and of residual
  const float* residual = nullptr;  // [M, N] f32 or null
  // Computes the first outputs alone, in the way of the whole: a multiple of 16; 0: all. Probes of
  // large matrices.
  int64_t num_outputs = 0;

  // Outputs of a row that are computed.
  int64_t width() const {
    const int64_t all = weights->out_features();
    return num_outputs == 0 ? all : std::min(all, num_outputs);
  }
};

// Several linears of one input: the activations are quantized once per distinct group size.
struct LinearArgs {
  const float* x = nullptr;           // [M, K] f32
  int64_t x_stride = 0;               // floats between rows
  int num_rows = 0;                   // M
  std::span<const LinearTask> tasks;  // all with the same K
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_LINEAR_H_
