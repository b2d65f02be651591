// gather_rows: copies chosen rows. Not arithmetic.
//
// Math out[i] = x[rows[i]]. Shapes x [*, D], out [N, D] f32; rows is host memory. out must not
// alias x.
#ifndef VERBATIM_OPS_GATHER_ROWS_H_
#define VERBATIM_OPS_GATHER_ROWS_H_

#include <cstdint>
#include <span>

namespace verbatim::ops {

struct GatherRowsArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  std::span<const int32_t> rows;  // host memory
  int64_t width = 0;              // D
  float* out = nullptr;           // [N, D] f32
  int64_t out_stride = 0;
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_GATHER_ROWS_H_
