// embed: rows of an embedding table, dequantized. Not scaled.
//
// Math          out[r][i] = fma(scale, q, bias) for affine tables, the widened value for dense
// ones. Shapes        table [V, H] (the same prepared matrix as a tied head), ids [M] in [0, V),
// out [M, H] f32. Association   none. Row invariance: out[r] depends on ids[r] alone. Effects: none
// but out.
#ifndef VERBATIM_OPS_EMBED_H_
#define VERBATIM_OPS_EMBED_H_

#include <cstdint>
#include <span>

#include "ops/linear.h"

namespace verbatim::ops {

struct EmbedArgs {
  const PreparedLinear* table = nullptr;
  std::span<const int32_t> ids;  // host memory
  float* out = nullptr;          // [M, H] f32
  int64_t out_stride = 0;
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_EMBED_H_
