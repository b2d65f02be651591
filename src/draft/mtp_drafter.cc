// True rows first (one batched pass over what the target accepted), then the recursive drafts.
#include "draft/mtp_drafter.h"

#include "base/check.h"
#include "numerics/argmax.h"

namespace verbatim {

Expected<std::unique_ptr<MtpDrafter>> MtpDrafter::Create(ops::Backend& backend, Model& model,
                                                         const Caches& caches,
                                                         const MtpDrafterLimits& limits) {
  const auto& [max_rows, max_sequences, num_choosable] = limits;
  std::unique_ptr<MtpDrafter> drafter(new MtpDrafter(backend, model, caches, num_choosable));
  const ModelShape& shape = model.shape();
  VERBATIM_ASSIGN_OR_RETURN(drafter->previous_hidden_,
                            backend.Allocate(shape.hidden_size * max_rows * sizeof(float)));
  drafter->logits_.resize(shape.vocab_size);
  drafter->best_.resize(max_sequences);
  drafter->tokens_.reserve(max_rows);
  drafter->hidden_rows_.reserve(max_rows);
  drafter->sequences_.reserve(max_sequences);
  drafter->draft_rows_.reserve(max_sequences);
  return drafter;
}

void MtpDrafter::Propose(std::span<DraftJob> jobs, const float* target_hidden) {
  if (jobs.empty()) return;
  RunTrueRows(jobs, target_hidden);
  for (int depth = 1; !draft_rows_.empty(); ++depth) {
    TakeDrafts(jobs);
    RunProvisionalRows(jobs, depth);
  }
  // While they were being made, drafts counted as output.
  for (DraftJob& job : jobs) {
    for (int i = job.num_drafts; job.sampler != nullptr && i > 0; --i) {
      job.sampler->Pop(job.drafts[i - 1]);
    }
  }
}

void MtpDrafter::ProposeWithMargins(DraftJob& job, const float* target_hidden, float* margins) {
  margins_ = margins;
  Propose({&job, 1}, target_hidden);
  margins_ = nullptr;
}

void MtpDrafter::RunTrueRows(std::span<DraftJob> jobs, const float* target_hidden) {
  tokens_.clear();
  hidden_rows_.clear();
  sequences_.clear();
  draft_rows_.clear();
  for (DraftJob& job : jobs) {
    SequenceState& state = *job.state;
    // The invariant of qwen3_5.md 5.5: as many rows as the target has consumed tokens, after every
    // step.
    const int64_t end = state.num_consumed - (job.last_row_waits ? 1 : 0);
    VERBATIM_CHECK(state.num_draft_rows == end - job.num_rows);
    job.num_drafts = 0;
    const int first_row = static_cast<int>(tokens_.size());
    for (int j = 0; j < job.num_rows; ++j) {
      tokens_.push_back(job.tokens[state.num_draft_rows + j + 1]);
      hidden_rows_.push_back(job.first_row + j);
    }
    sequences_.push_back({.first_row = first_row,
                          .num_rows = job.num_rows,
                          .num_certain = job.num_rows,
                          .first_slot = static_cast<int>(state.num_draft_rows) + 1,
                          .first_visible_slot = 1,
                          .first_position = static_cast<int>(state.num_draft_rows),
                          .pages = state.PagesFor(end + 1)});
    state.num_draft_rows = end;
    if (job.max_drafts > 0) draft_rows_.push_back(first_row + job.num_rows - 1);
  }
  ForwardRows(target_hidden);
}

void MtpDrafter::AppendRow(SequenceState& state, int32_t token, const float* hidden) {
  VERBATIM_CHECK(state.num_draft_rows == state.num_consumed - 1);
  tokens_.assign(1, token);
  hidden_rows_.assign(1, 0);
  sequences_.assign(1, {.num_rows = 1,
                        .num_certain = 1,
                        .first_slot = static_cast<int>(state.num_consumed),
                        .first_visible_slot = 1,
                        .first_position = static_cast<int>(state.num_draft_rows),
                        .pages = state.PagesFor(state.num_consumed + 1)});
  ForwardRows(hidden);
  state.num_draft_rows = state.num_consumed;
}

void MtpDrafter::ForwardRows(const float* hidden) {
  const int64_t width = model_.shape().hidden_size;
  backend_.GatherRows({.x = hidden,
                       .x_stride = width,
                       .rows = hidden_rows_,
                       .width = width,
                       .out = previous_hidden_->As<float>(),
                       .out_stride = width});
  model_.draft_head()->Forward(
      tokens_, previous_hidden_->As<float>(),
      {.sequences = sequences_, .num_rows = static_cast<int>(tokens_.size())}, caches_);
}

void MtpDrafter::TakeDrafts(std::span<DraftJob> jobs) {
  const int64_t vocab = model_.shape().vocab_size;
  const float* device_logits = model_.draft_head()->Logits(draft_rows_);
  // Padding columns are never chosen, so they are never drafted.
  backend_.BestLogits({.logits = device_logits,
                       .num_rows = static_cast<int>(draft_rows_.size()),
                       .vocab_size = vocab,
                       .num_choosable = num_choosable_,
                       .best = best_.data()});
  size_t index = 0;
  for (DraftJob& job : jobs) {
    if (job.num_drafts >= job.max_drafts) continue;
    int32_t draft = best_[index].id;
    if (margins_ != nullptr || job.sampler != nullptr) {
      backend_.CopyToHost(logits_.data(), device_logits + vocab * static_cast<int64_t>(index),
                          vocab * sizeof(float));
    }
    if (margins_ != nullptr) {
      margins_[job.num_drafts] =
          numerics::TopTwoGap(std::span<const float>(logits_).first(num_choosable_));
    }
    if (job.sampler != nullptr) {
      draft = job.sampler->Draft(logits_, job.with_noise, sampler_scratch_);
      job.sampler->Push(draft);
    }
    job.drafts[job.num_drafts++] = draft;
    ++index;
  }
}

void MtpDrafter::RunProvisionalRows(std::span<DraftJob> jobs, int depth) {
  tokens_.clear();
  hidden_rows_.clear();
  sequences_.clear();
  size_t index = 0;
  for (DraftJob& job : jobs) {
    if (job.num_drafts < depth) continue;  // took no draft in this round
    const int32_t hidden_row = draft_rows_[index++];
    if (job.num_drafts == job.max_drafts) continue;
    // Row i of the head for a token that is not accepted yet; true rows will overwrite its slot.
    const int row = static_cast<int>(job.state->num_draft_rows) + depth - 1;
    sequences_.push_back({.first_row = static_cast<int>(tokens_.size()),
                          .num_rows = 1,
                          .num_certain = 1,
                          .first_slot = row + 1,
                          .first_visible_slot = 1,
                          .first_position = row,
                          .pages = job.state->PagesFor(row + 2)});
    tokens_.push_back(job.drafts[depth - 1]);
    hidden_rows_.push_back(hidden_row);
  }
  draft_rows_.clear();
  if (tokens_.empty()) return;
  ForwardRows(model_.draft_head()->hidden());
  for (size_t i = 0; i < tokens_.size(); ++i) draft_rows_.push_back(static_cast<int32_t>(i));
}

}  // namespace verbatim
