// rms_norm and gated_norm: the two row norms of the family. The per-head q/k norm is part of
// rope_and_cache.
//
// Math          rms_norm: y = (x * r) * w, r = 1 / sqrt(sum(x^2) / D + eps).
//               gated_norm, per row and head over Dv: y = ((o * r) * w) * silu(z).
// Shapes        x, y [M, D]; o, z, y [M, Hv * Dv], w [D] or [Dv], all f32. w is the final
// multiplier (1 + w applied). Association   numerics.md 4: 64 virtual lanes, then pairwise by
// halves. Row invariance  y[r] depends on row r alone. Effects: none but y. y may alias x (o).
#ifndef VERBATIM_OPS_NORM_H_
#define VERBATIM_OPS_NORM_H_

#include <cstdint>

namespace verbatim::ops {

struct RmsNormArgs {
  const float* x = nullptr;  // [M, D] f32
  int64_t x_stride = 0;
  const float* weight = nullptr;  // [D] f32
  float eps = 0;
  int num_rows = 0;      // M
  int64_t width = 0;     // D
  float* out = nullptr;  // [M, D] f32
  int64_t out_stride = 0;
};

struct GatedNormArgs {
  const float* x = nullptr;       // [M, Hv * Dv] f32
  const float* z = nullptr;       // [M, Hv * Dv] f32
  const float* weight = nullptr;  // [Dv] f32
  float eps = 0;
  int num_rows = 0;
  int num_heads = 0;     // Hv
  int head_dim = 0;      // Dv
  float* out = nullptr;  // [M, Hv * Dv] f32
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_NORM_H_
