// silu_mul: the elementwise middle of the gated MLP.
//
// Math out = silu(gate) * up (numerics.md 7, 8). Shapes [M, I] f32, rows contiguous. out may alias
// gate or up.
#ifndef VERBATIM_OPS_SILU_MUL_H_
#define VERBATIM_OPS_SILU_MUL_H_

#include <cstdint>

namespace verbatim::ops {

struct SiluMulArgs {
  const float* gate = nullptr;  // [M, I] f32
  const float* up = nullptr;    // [M, I] f32
  int num_rows = 0;
  int64_t width = 0;     // I
  float* out = nullptr;  // [M, I] f32
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_SILU_MUL_H_
