// RunningSequence: one admitted request with its tokens, cache state, drafts and statistics. Not
// scheduling.
#ifndef VERBATIM_ENGINE_RUNNING_SEQUENCE_H_
#define VERBATIM_ENGINE_RUNNING_SEQUENCE_H_

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sha256.h"
#include "engine/text_stream.h"
#include "engine/width_controller.h"
#include "numerics/sampler.h"
#include "ops/best_logits.h"
#include "state/sequence_state.h"
#include "text/banned_strings.h"
#include "verbatim/engine.h"

namespace verbatim {

struct SequenceLimits {
  int64_t context = 0;  // prompt and output tokens
  int64_t vocab_size = 0;
  int64_t num_choosable = 0;  // ids from here on are padding columns of the head, never chosen
  std::span<const int32_t> eos_token_ids;
};

// A step's logits of one sequence, [NumLogitRows] of each; host memory.
struct RowLogits {
  std::span<const ops::BestLogit> best = {};
  std::span<const float> logits = {};  // [rows, V]; only if needs_logits()
};

class RunningSequence {
 public:
  using Clock = std::chrono::steady_clock;

  // Reserves everything that decoding will need. `text` is absent if the request needs none.
  RunningSequence(RequestId id, Request request, SequenceState state, const SequenceLimits& limits,
                  std::optional<TextStream> text,
                  std::optional<BannedStrings> banned = std::nullopt);

  // Rows of the next block: the unconsumed prompt, at most `max_prompt_rows` of it, or the pending
  // token and drafts.
  int NumNextRows(int64_t max_prompt_rows) const;
  int NumCertainRows(int num_rows) const { return in_prompt() ? num_rows : 1; }
  bool in_prompt() const { return !output_started_; }
  // Whether these rows reach the end of the prompt, so that the last one's logits choose a token.
  int NumLogitRows(int num_rows) const;
  int32_t RowToken(int row) const;

  // Whether a choice asks for more of a row than its largest logit.
  bool needs_logits() const {
    return request_.logits_digest || request_.position_digests || sampler_.has_value();
  }
  // Takes a step's logits for its `num_rows` rows: walks the block while drafts are right, emits
  // tokens, and moves the state past the accepted rows.
  void Accept(int num_rows, const RowLogits& rows, numerics::SamplerScratch& scratch);

  // Drafts to ask for after Accept, within the block, output and context limits.
  // `other_rows`: rows of other sequences in the step.
  int MaxDrafts(const StepCosts& costs, int other_rows);
  void SetNumDrafts(int count);  // `drafts` now holds that many for the next block

  bool ended() const { return finish_reason_.has_value(); }
  bool failed() const { return finish_reason_ == FinishReason::kError; }
  void Cancel();
  Result TakeResult();

  RequestId id() const { return id_; }
  const Request& request() const { return request_; }
  std::span<const int32_t> tokens() const { return tokens_; }
  int64_t prompt_size() const { return prompt_size_; }
  // The prompt's tokens whose state a conversation keeps; a step ends there. 0: no conversation.
  int64_t keep_at() const { return keep_at_; }
  int num_accepted_rows() const { return num_accepted_rows_; }              // of the last step
  numerics::Sampler* sampler() { return sampler_ ? &*sampler_ : nullptr; }  // null: greedy
  void StartClock();

  SequenceState state;
  std::array<int32_t, kMaxDraftTokens> drafts{};
  int num_drafts = 0;

 private:
  // The token of one row; -1: it fails the request, and result_.error says why.
  int32_t Choose(const RowLogits& rows, int row, numerics::SamplerScratch& scratch);
  void PushPositionDigest(std::span<const float> logits);
  void Emit(int32_t token, bool drafted);
  void End(FinishReason reason);
  int64_t Remaining() const;  // tokens that may still be emitted

  RequestId id_;
  Request request_;
  SequenceLimits limits_;
  int64_t prompt_size_;
  int64_t keep_at_ = 0;
  std::vector<int32_t> tokens_;  // prompt and output
  bool output_started_ = false;  // the whole prompt is consumed and a token chosen
  int num_accepted_rows_ = 0;
  std::optional<TextStream> text_;
  std::optional<BannedStrings> banned_;
  std::optional<numerics::Sampler> sampler_;  // refers to request_ and tokens
  Sha256 digest_;
  std::optional<Sha256> position_digest_;  // if request_.position_digests
  WidthController width_;
  std::optional<FinishReason> finish_reason_;
  Result result_;
  std::optional<Clock::time_point> started_;
  std::optional<Clock::time_point> first_token_;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_RUNNING_SEQUENCE_H_
