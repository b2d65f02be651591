// StepView: which rows of a step belong to which sequence, as the ops that keep state need it. Not
// the engine's plan.
#ifndef VERBATIM_OPS_STEP_H_
#define VERBATIM_OPS_STEP_H_

#include <cstdint>
#include <span>

namespace verbatim::ops {

// The consecutive rows that one sequence contributes to a step. Rows [0, num_certain) are tokens of
// the sequence; the rest are drafts that may be rejected, so what they do to recurrent state is
// recorded, not written.
struct SequenceRows {
  int first_row = 0;    // index of the first row in the step's row arrays
  int num_rows = 0;     // >= 1
  int num_certain = 0;  // in [1, num_rows]; num_rows - num_certain <= RecurrentLayout::max_drafts
  // KV slot of the first row; row j writes slot first_slot + j.
  int first_slot = 0;
  // Slots below exist for nobody: 1 for the MTP head, whose slot 0 is unused.
  int first_visible_slot = 0;
  int first_position = 0;  // rope position of the first row
  // The page of slots [256 * c, 256 * (c + 1)) is pages[c]; host memory.
  const int32_t* pages = nullptr;
  int recurrent_slot = 0;       // which state of the RecurrentView
  int num_accepted_drafts = 0;  // draft rows of the previous block to fold into the state first
};

struct StepView {
  std::span<const SequenceRows> sequences;
  int num_rows = 0;  // M, the sum of num_rows
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_STEP_H_
