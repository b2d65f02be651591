// rope_and_cache: per-head q/k norm, partial rope, and the write of K and V into their pages.
//
// Math          per row and head over hd: q' = rms_norm(q, wq), k' = rms_norm(k, wk) (numerics.md
// 4), then for
//               i < rd / 2: y[i] = fma(x[i], c, -(x[i + rd/2] * s)), y[i + rd/2] = fma(x[i + rd/2],
//               c, x[i] * s); channels from rd on pass through. K and V are rounded once to the
//               cache's type.
// Shapes        q rows hold nH heads `q_head_stride` floats apart (2 * hd where the gate is
// interleaved), k and v
//               [M, nKV * hd], cos and sin [positions, rd / 2] f32, out q [M, nH * hd] f32.
// Row invariance  row r writes its own slot and reads nothing of other rows. Effects: the slots' K
// and V.
#ifndef VERBATIM_OPS_ROPE_AND_CACHE_H_
#define VERBATIM_OPS_ROPE_AND_CACHE_H_

#include <cstdint>

#include "ops/kv_layout.h"
#include "ops/step.h"

namespace verbatim::ops {

struct RopeAndCacheArgs {
  StepView step;
  const float* q = nullptr;
  int64_t q_stride = 0;                  // floats between rows
  int64_t q_head_stride = 0;             // floats between heads of a row
  const float* k = nullptr;              // [M, nKV * hd] f32
  const float* v = nullptr;              // [M, nKV * hd] f32
  const float* q_norm_weight = nullptr;  // [hd] f32
  const float* k_norm_weight = nullptr;  // [hd] f32
  float eps = 0;
  int num_heads = 0;                 // nH
  int rotary_dim = 0;                // rd
  const float* cos_table = nullptr;  // [positions, rd / 2] f32
  const float* sin_table = nullptr;
  KvCacheView cache;
  float* q_out = nullptr;  // [M, nH * hd] f32
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_ROPE_AND_CACHE_H_
