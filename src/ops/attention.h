// attention: causal softmax attention over paged K and V, with the sigmoid output gate fused.
//
// Math          numerics.md 5, then o * sigmoid(gate) if a gate is given. Query head n reads KV
// head n / (nH / nKV). Shapes        q [M, nH * hd] f32, gate rows with heads `gate_head_stride`
// floats apart or null, out [M, nH * hd] f32. Domain        row j of a sequence sees slots
// [first_visible_slot, first_slot + j]; its own slot is already written. Association   per chunk of
// 256 absolute slots: four chains over d mod 4 for scores, chains over slots in ascending
//               order for l and o; chunks merged in ascending order.
// Row invariance  out[r] depends on q[r] and the visible slots alone. Effects: none but out.
#ifndef VERBATIM_OPS_ATTENTION_H_
#define VERBATIM_OPS_ATTENTION_H_

#include <cstdint>

#include "ops/kv_layout.h"
#include "ops/step.h"

namespace verbatim::ops {

struct AttentionArgs {
  StepView step;
  const float* q = nullptr;     // [M, nH * hd] f32
  const float* gate = nullptr;  // or null
  int64_t gate_stride = 0;
  int64_t gate_head_stride = 0;
  int num_heads = 0;  // nH
  float scale = 0;    // hd^-0.5, computed in binary64 and rounded once
  KvCacheView cache;
  float* out = nullptr;  // [M, nH * hd] f32
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_ATTENTION_H_
