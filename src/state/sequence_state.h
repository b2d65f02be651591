// SequenceState: what one sequence has in the caches. Not its text, request or sampling (engine/).
#ifndef VERBATIM_STATE_SEQUENCE_STATE_H_
#define VERBATIM_STATE_SEQUENCE_STATE_H_

#include <cstdint>
#include <vector>

namespace verbatim {

struct SequenceState {
  std::vector<int32_t> pages;  // page table; covers the target's slots and the draft head's
  int recurrent_slot = -1;
  int64_t num_consumed =
      0;  // tokens that the target has consumed; KV slots [0, num_consumed) are valid
  int num_accepted_drafts =
      0;  // draft rows of the last block that count, not yet folded into the state
  int64_t num_draft_rows = 0;  // committed rows of the draft head; row i lies in its slot i + 1
};

}  // namespace verbatim

#endif  // VERBATIM_STATE_SEQUENCE_STATE_H_
