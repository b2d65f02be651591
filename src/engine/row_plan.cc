// One pass over the decoding sequences, one over the prompts.
#include "engine/row_plan.h"

#include <algorithm>

#include "draft/drafter.h"

namespace verbatim {

RowPlan::RowPlan(int max_rows, int max_sequences, int64_t prefill_chunk)
    : max_rows_(max_rows), prefill_chunk_(prefill_chunk) {
  tokens_.reserve(max_rows);
  rows_.reserve(max_sequences);
  logit_rows_.reserve(max_rows);
  planned_.reserve(max_sequences);
}

void RowPlan::Build(std::span<const std::unique_ptr<RunningSequence>> sequences) {
  tokens_.clear();
  rows_.clear();
  logit_rows_.clear();
  planned_.clear();
  decode_only_ = true;
  for (const auto& sequence : sequences) {
    if (!sequence->in_prompt()) Add(*sequence, 0);
  }
  for (const auto& sequence : sequences) {
    const int64_t free_rows = max_rows_ - num_rows();
    if (!sequence->in_prompt() || free_rows == 0) continue;
    decode_only_ = false;
    Add(*sequence, std::min(prefill_chunk_, free_rows));
  }
}

void RowPlan::Add(RunningSequence& sequence, int64_t max_prompt_rows) {
  const int count = sequence.NumNextRows(max_prompt_rows);
  const int first_row = num_rows();
  const int num_logit_rows = sequence.NumLogitRows(count);
  const SequenceState& state = sequence.state;
  for (int row = 0; row < count; ++row) {
    const int32_t token = sequence.RowToken(row);
    tokens_.push_back(token == kImpossibleToken ? 0 : token);
  }
  rows_.push_back({.first_row = first_row,
                   .num_rows = count,
                   .num_certain = sequence.NumCertainRows(count),
                   .first_slot = static_cast<int>(state.num_consumed),
                   .first_position = static_cast<int>(state.num_consumed),
                   .pages = state.PagesFor(state.num_consumed + count),
                   .recurrent_slot = state.recurrent_slot,
                   .num_accepted_drafts = state.num_accepted_drafts});
  planned_.push_back({.sequence = &sequence,
                      .first_row = first_row,
                      .num_rows = count,
                      .first_logit_row = static_cast<int>(logit_rows_.size()),
                      .num_logit_rows = num_logit_rows});
  for (int row = count - num_logit_rows; row < count; ++row) logit_rows_.push_back(first_row + row);
}

}  // namespace verbatim
