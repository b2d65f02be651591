// SequenceState: what one sequence has in the caches. Not its text, request or sampling (engine/).
#ifndef VERBATIM_STATE_SEQUENCE_STATE_H_
#define VERBATIM_STATE_SEQUENCE_STATE_H_

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "ops/kv_layout.h"

namespace verbatim {

struct SequenceState {
  // Page table; covers the target's slots and the draft head's.
  std::vector<int32_t> pages;
  int recurrent_slot = -1;
  // Tokens that the target has consumed; KV slots [0, num_consumed) are valid.
  int64_t num_consumed = 0;
  // Draft rows of the last block that count, not yet folded into the state.
  int num_accepted_drafts = 0;
  // Committed rows of the draft head; row i lies in its slot i + 1.
  int64_t num_draft_rows = 0;

  // The page table for a step that writes slots below `end_slot`; a slot without a page is a broken
  // invariant.
  const int32_t* PagesFor(int64_t end_slot) const {
    VERBATIM_CHECK(end_slot <= static_cast<int64_t>(pages.size()) * ops::kPageSlots);
    return pages.data();
  }
};

}  // namespace verbatim

#endif  // VERBATIM_STATE_SEQUENCE_STATE_H_
