// conv_and_gated_delta: causal convolution, gates, q/k L2 norm and the gated delta rule over a
// step's rows.
//
// Math          numerics.md 6 and 8. mixed row = [q: Hk*Dk | k: Hk*Dk | v: Hv*Dv]; conv over 4
// taps, then silu;
//               qhat = (q * r) * Dk^-0.5, khat = k * r, r = 1 / sqrt(sum + 1e-6) over a head; beta
//               = sigmoid(b); g = -(A * softplus(a + dt)), e = exp(g), +0 if g < -44. Value head h
//               uses key head h / (Hv / Hk).
// Shapes        mixed [M, conv_dim], a and b [M, Hv], conv_weight [4][conv_dim] (tap-major, oldest
// first), A = exp(A_log)
//               and dt_bias [Hv], out [M, Hv * Dv], all f32.
// Order         per sequence: fold the accepted draft records of the previous block into S and the
// convolution rows;
//               run the certain rows and write S and the convolution rows; run the draft rows on a
//               copy and leave records.
// Association   four chains over k mod 4, combined (c0+c1)+(c2+c3); tokens strictly one after the
// other. Row invariance  out[r] depends on the sequence's rows up to r and its state. Splits: heads
// and tiles of 16 channels. Effects       the sequence's state slot.
//
// fold_records  does the first step alone (snapshots, preemption, digests): afterwards no draft is
// pending.
#ifndef VERBATIM_OPS_CONV_AND_GATED_DELTA_H_
#define VERBATIM_OPS_CONV_AND_GATED_DELTA_H_

#include <cstdint>

#include "ops/recurrent_layout.h"
#include "ops/step.h"

namespace verbatim::ops {

struct ConvAndGatedDeltaArgs {
  StepView step;
  RecurrentView state;
  const float* mixed = nullptr;        // [M, conv_dim] f32
  const float* a = nullptr;            // [M, Hv] f32
  const float* b = nullptr;            // [M, Hv] f32
  const float* conv_weight = nullptr;  // [4][conv_dim] f32
  const float* decay_rate = nullptr;   // A, [Hv] f32
  const float* dt_bias = nullptr;      // [Hv] f32
  float query_scale = 0;               // Dk^-0.5, computed in binary64 and rounded once
  float* out = nullptr;                // [M, Hv * Dv] f32
};

struct FoldRecordsArgs {
  RecurrentView state;
  int recurrent_slot = 0;
  int num_accepted_drafts = 0;
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_CONV_AND_GATED_DELTA_H_
