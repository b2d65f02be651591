// Blocks first, then prompts in what is left.
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
  int num_prompts = 0;
  for (const auto& sequence : sequences) num_prompts += sequence->in_prompt() ? 1 : 0;
  decode_only_ = num_prompts == 0;
  // Of a budget below four rows, prompts get one every other step; so who is first changes every
  // other step too, or the same ones would always be.
  const int kept = std::max(max_rows_ / 4, static_cast<int>(turn_ % 2));
  AddBlocks(sequences, decode_only_ ? max_rows_ : max_rows_ - kept);
  if (num_prompts > 0) AddPrompts(sequences, num_prompts);
  if (!empty()) ++turn_;
}

void RowPlan::AddBlocks(std::span<const std::unique_ptr<RunningSequence>> sequences,
                        int most_rows) {
  int wanted = 0;
  for (const auto& sequence : sequences) {
    if (!sequence->in_prompt()) wanted += sequence->NumNextRows(0);
  }
  // In their order while there is room for all, so that a step's rows depend on nothing else.
  const size_t first = wanted <= most_rows ? 0 : turn_ / 2;
  for (size_t i = 0; i < sequences.size() && num_rows() < most_rows; ++i) {
    RunningSequence& sequence = *sequences[(first + i) % sequences.size()];
    if (sequence.in_prompt()) continue;
    sequence.CutDrafts(most_rows - num_rows() - 1);
    Add(sequence, 0);
  }
}

void RowPlan::AddPrompts(std::span<const std::unique_ptr<RunningSequence>> sequences,
                         int num_prompts) {
  int64_t free_rows = max_rows_ - num_rows();
  if (!planned_.empty()) free_rows = std::min(free_rows, prefill_chunk_);
  const size_t first = free_rows >= num_prompts ? 0 : turn_ / 2;
  for (size_t i = 0; i < sequences.size() && free_rows > 0; ++i) {
    RunningSequence& sequence = *sequences[(first + i) % sequences.size()];
    if (!sequence.in_prompt()) continue;
    // What a short prompt leaves of its share goes to those behind it.
    const int64_t share = (free_rows + num_prompts - 1) / num_prompts;
    const int before = num_rows();
    Add(sequence, std::min(prefill_chunk_, share));
    free_rows -= num_rows() - before;
    --num_prompts;
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
