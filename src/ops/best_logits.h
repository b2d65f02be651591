// best_logits: the largest logit of each row, so that a greedy choice needs no copy of the row.
//
// Math id = the lowest one with the largest of logits[0, num_choosable), -0 equal to +0, NaN below
// everything; has_nan = whether any of logits[0, V) is NaN (numerics.md 9). Exact: no rounding, no
// order. A row of NaNs has id 0.
#ifndef VERBATIM_OPS_BEST_LOGITS_H_
#define VERBATIM_OPS_BEST_LOGITS_H_

#include <cstdint>

namespace verbatim::ops {

struct BestLogit {
  int32_t id = 0;
  bool has_nan = false;
};

struct BestLogitsArgs {
  const float* logits = nullptr;  // [M, V] f32, rows contiguous
  int num_rows = 0;
  int64_t vocab_size = 0;     // V
  int64_t num_choosable = 0;  // 1 to V; ids from here on are never chosen
  BestLogit* best = nullptr;  // [M], host memory, there when the call returns
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_BEST_LOGITS_H_
