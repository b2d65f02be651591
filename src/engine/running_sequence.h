// RunningSequence: one admitted request with its tokens, cache state, drafts and statistics. Not
// scheduling.
#ifndef VERBATIM_ENGINE_RUNNING_SEQUENCE_H_
#define VERBATIM_ENGINE_RUNNING_SEQUENCE_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sha256.h"
#include "engine/constraint_state.h"
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

// What some requests need beside their state.
struct SequenceParts {
  std::optional<TextStream> text = {};
  std::optional<BannedStrings> banned = {};
  std::optional<ConstraintState> constraint = {};
};

class RunningSequence {
 public:
  using Clock = std::chrono::steady_clock;

  // Reserves everything that decoding will need, but for pages.
  // It gets its state by Resume.
  RunningSequence(RequestId id, Request request, Clock::time_point submitted,
                  const SequenceLimits& limits, SequenceParts parts);

  // Gives the state up, which was released; what is known of the output stays, and Resume goes on
  // from it.
  void Preempt();
  // Takes a state that has consumed some of tokens(), at most as many as known_size().
  void Resume(SequenceState resumed);

  // Rows of the next block: what is known and not consumed, at most `max_prompt_rows` of it, or the
  // pending token and drafts.
  int NumNextRows(int64_t max_prompt_rows) const;
  int NumCertainRows(int num_rows) const { return in_prompt() ? num_rows : 1; }
  // Consuming what is known: the prompt, or after Resume the output too.
  bool in_prompt() const { return state.num_consumed < known_size(); }
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
  int MaxDrafts() const;
  // Who drafts: as requested, but nobody once StopDrafting was called, which is for good: the
  // head's cache falls behind.
  SpeculationKind drafter() const {
    return drafting_ ? request_.speculation.kind : SpeculationKind::kOff;
  }
  void StopDrafting() { drafting_ = false; }
  const Acceptance& acceptance() const { return acceptance_; }
  void StartAcceptance(const Acceptance& others) { acceptance_ = Acceptance::LikeThat(others); }
  int num_tested() const { return num_tested_; }                     // drafts of the last step
  int64_t num_rounds() const { return result_.speculation.rounds; }  // decode steps so far
  void SetNumDrafts(int count);  // `drafts` now holds that many for the next block
  // The next block has no room for more than that many.
  void CutDrafts(int most) { num_drafts = std::min(num_drafts, most); }

  bool ended() const { return finish_reason_.has_value(); }
  bool failed() const { return finish_reason_ == FinishReason::kError; }
  void Cancel();
  Result TakeResult();

  RequestId id() const { return id_; }
  const Request& request() const { return request_; }
  std::span<const int32_t> tokens() const { return tokens_; }
  int64_t prompt_size() const { return prompt_size_; }
  // Tokens whose consuming chooses nothing that is not chosen already, or in the prompt's case the
  // first token: the prompt, or all but the pending one.
  int64_t known_size() const {
    return output_started_ ? static_cast<int64_t>(tokens_.size()) - 1 : prompt_size_;
  }
  int64_t most_tokens() const { return most_tokens_; }  // prompt and output, within the limits
  // The prompt's tokens whose state a conversation keeps; a step ends there. 0: no conversation.
  int64_t keep_at() const { return keep_at_; }
  // Whether the state that the last step reached is one to keep for other prompts; a step ends
  // there.
  bool AtCachePoint() const {
    return std::ranges::binary_search(cache_points_, state.num_consumed);
  }
  // The next place that a step will end at to keep its state, at most `most` tokens; 0: none.
  int64_t NextCachePoint(int64_t most) const;
  void AddCachePoint(int64_t num_tokens);  // at least 1, less than the prompt's size
  int num_accepted_rows() const { return num_accepted_rows_; }              // of the last step
  numerics::Sampler* sampler() { return sampler_ ? &*sampler_ : nullptr; }  // null: greedy
  void StartClock();
  bool started() const { return started_.has_value(); }

  SequenceState state;
  std::array<int32_t, kMaxDraftTokens> drafts{};
  int num_drafts = 0;

 private:
  // The token of one row; -1: it fails the request, and result_.error says why.
  int32_t Choose(const RowLogits& rows, int row, numerics::SamplerScratch& scratch);
  int32_t Fail(Status error);  // -1
  void PushPositionDigest(std::span<const float> logits);
  void Emit(int32_t token, const TokenEvent& origin);
  void End(FinishReason reason);
  int64_t Remaining() const;  // tokens that may still be emitted

  RequestId id_;
  Request request_;
  SequenceLimits limits_;
  int64_t prompt_size_;
  int64_t most_tokens_;
  int64_t keep_at_ = 0;
  std::vector<int64_t> cache_points_;  // ascending, below prompt_size_
  std::vector<int32_t> tokens_;        // prompt and output
  bool output_started_ = false;        // a token was chosen
  int num_accepted_rows_ = 0;
  std::optional<TextStream> text_;
  std::optional<BannedStrings> banned_;
  std::optional<ConstraintState> constraint_;
  std::optional<numerics::Sampler> sampler_;  // refers to request_ and tokens
  Sha256 digest_;
  std::optional<Sha256> position_digest_;  // if request_.position_digests
  Acceptance acceptance_;
  bool drafting_ = true;
  int num_tested_ = 0;
  std::optional<FinishReason> finish_reason_;
  Result result_;
  Clock::time_point submitted_;
  std::optional<Clock::time_point> started_;
  std::optional<Clock::time_point> first_token_;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_RUNNING_SEQUENCE_H_
