// Drafter: proposes the tokens of the next block. A wrong proposal costs time, never output.
// Thread rule: one caller at a time.
#ifndef VERBATIM_DRAFT_DRAFTER_H_
#define VERBATIM_DRAFT_DRAFTER_H_

#include <cstdint>
#include <span>

#include "numerics/sampler.h"
#include "state/sequence_state.h"

namespace verbatim {

// A draft that no choice can equal; the row plan embeds token 0 in its place.
inline constexpr int32_t kImpossibleToken = -1;

// One sequence after a step: its accepted rows are consumed and tokens[state->num_consumed] is
// pending (of a prompt that is not finished: the next prompt token).
struct DraftJob {
  SequenceState* state = nullptr;
  std::span<const int32_t> tokens;  // prompt and output so far
  int64_t prompt_size = 0;
  std::span<const int32_t> replay = {};  // SpeculationOptions::replay
  int first_row = 0;                     // the step's first row of this sequence
  int num_rows = 0;                      // rows consumed in the step
  // The sequence ended: the step consumed one row more, whose next token is not known yet.
  bool last_row_waits = false;
  numerics::Sampler* sampler = nullptr;  // how the target will choose; null: the largest logit
  bool with_noise = true;                // draft with the sampler's noise
  int max_drafts = 0;                    // 0: propose nothing, only keep in step
  int32_t* drafts = nullptr;             // [max_drafts]
  int num_drafts = 0;                    // out, at most max_drafts
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Must be called after every step with all of the drafter's sequences that took part and go on,
  // or whose state is kept.
  // `target_hidden` [M, H] are the step's rows; device memory. Allocates nothing.
  virtual void Propose(std::span<DraftJob> jobs, const float* target_hidden) = 0;
};

}  // namespace verbatim

#endif  // VERBATIM_DRAFT_DRAFTER_H_
