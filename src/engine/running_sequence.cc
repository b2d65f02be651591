// The walk over a block's rows, and everything that can end a request inside it.
#include "engine/running_sequence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/check_logits.h"

namespace verbatim {
namespace {

// Longer than most tokens of any vocabulary, so that the text seldom has to grow while decoding.
constexpr int64_t kTypicalTokenBytes = 8;

double Milliseconds(RunningSequence::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

RunningSequence::RunningSequence(RequestId id, Request request, Clock::time_point submitted,
                                 const SequenceLimits& limits, SequenceParts parts)
    : id_(id),
      request_(std::move(request)),
      limits_(limits),
      prompt_size_(static_cast<int64_t>(request_.prompt_token_ids.size())),
      most_tokens_(prompt_size_ + std::min(request_.max_tokens, limits.context - prompt_size_)),
      cache_points_(request_.cache_points),
      tokens_(request_.prompt_token_ids),
      text_(std::move(parts.text)),
      banned_(std::move(parts.banned)),
      constraint_(std::move(parts.constraint)),
      submitted_(submitted) {
  const int64_t most_output = most_tokens_ - prompt_size_;
  tokens_.reserve(most_tokens_);
  result_.token_ids.reserve(most_output);
  if (text_) result_.text.reserve(most_output * kTypicalTokenBytes);
  if (numerics::Sampler::IsNeeded(request_.sampling) || constraint_) {
    // Drafts are pushed too, and popped before the next choice.
    sampler_.emplace(request_.sampling,
                     numerics::SamplerLimits{.vocab_size = limits.vocab_size,
                                             .num_choosable = limits.num_choosable,
                                             .eos_ids = limits.eos_token_ids,
                                             .max_output = most_output + kMaxDraftTokens},
                     request_.prompt_token_ids);
  }
  if (request_.sampling.logprobs >= 0) result_.logprobs.reserve(most_output);
  if (request_.position_digests) {
    position_digest_.emplace();
    result_.position_digests.reserve(most_output);
  }
  if (request_.conversation != kNoConversation) {
    keep_at_ = request_.keep_prefix == 0 ? prompt_size_ : request_.keep_prefix;
  }
}

int RunningSequence::NumNextRows(int64_t max_prompt_rows) const {
  if (!in_prompt()) return 1 + num_drafts;
  int64_t end = state.num_consumed < keep_at_ ? keep_at_ : known_size();
  const auto point = std::ranges::upper_bound(cache_points_, state.num_consumed);
  if (point != cache_points_.end()) end = std::min(end, *point);
  return static_cast<int>(std::min(end - state.num_consumed, max_prompt_rows));
}

int RunningSequence::NumLogitRows(int num_rows) const {
  if (!in_prompt()) return num_rows;
  return !output_started_ && state.num_consumed + num_rows == prompt_size_ ? 1 : 0;
}

int32_t RunningSequence::RowToken(int row) const {
  return in_prompt() || row == 0 ? tokens_[state.num_consumed + row] : drafts[row - 1];
}

void RunningSequence::StartClock() {
  if (started_) return;
  started_ = Clock::now();
  result_.timings.queue_ms = Milliseconds(*started_ - submitted_);
}

int64_t RunningSequence::NextCachePoint(int64_t most) const {
  // The last one within reach serves best.
  const auto beyond = std::ranges::upper_bound(cache_points_, most);
  if (beyond == cache_points_.begin()) return 0;
  const int64_t point = *std::prev(beyond);
  return point > state.num_consumed ? point : 0;
}

void RunningSequence::AddCachePoint(int64_t num_tokens) {
  const auto place = std::ranges::lower_bound(cache_points_, num_tokens);
  if (place == cache_points_.end() || *place != num_tokens) cache_points_.insert(place, num_tokens);
}

void RunningSequence::Preempt() {
  state = {};
  num_drafts = 0;
  ++result_.preemptions;
}

void RunningSequence::Resume(SequenceState resumed) {
  state = std::move(resumed);
  VERBATIM_CHECK(state.num_consumed <= known_size());
  if (!started_) result_.cached_prompt_tokens = state.num_consumed;
}

int64_t RunningSequence::Remaining() const {
  const int64_t output = static_cast<int64_t>(tokens_.size()) - prompt_size_;
  return std::min(request_.max_tokens - output,
                  limits_.context - static_cast<int64_t>(tokens_.size()));
}

int32_t RunningSequence::Choose(const RowLogits& rows, int row, numerics::SamplerScratch& scratch) {
  const auto index = static_cast<int64_t>(result_.token_ids.size());
  const ops::BestLogit& best = rows.best[row];
  if (best.has_nan) return Fail(NanError("output token", index));
  if (!needs_logits()) return best.id;
  const std::span<const float> logits =
      rows.logits.subspan(row * limits_.vocab_size, limits_.vocab_size);
  if (request_.logits_digest) digest_.UpdateFloats(logits);
  if (position_digest_) PushPositionDigest(logits);
  if (!sampler_) return best.id;
  numerics::Bans bans;
  if (banned_) bans.ids = banned_->ids();
  if (constraint_) {
    const auto allowed = constraint_->Allowed();
    if (!allowed.ok()) return Fail(allowed.status());
    bans.allowed = *allowed;
  }
  TokenLogprobs logprobs;
  const int32_t token = sampler_->Choose(logits, bans, scratch, &logprobs);
  if (token < 0) {
    const std::string where = fmt::format("choice of output token {}", index);
    return Fail(token == numerics::Sampler::kAllBanned
                    ? MakeError(StatusCode::kInvalidArgument, where, "a token that is not banned",
                                "bans of every one",
                                constraint_ ? "bans and min_tokens that the constraint can meet"
                                            : "fewer banned ids and strings")
                    : MakeError(StatusCode::kInternal, where, "finite logits", "infinity",
                                "verbatim inspect on the checkpoint"));
  }
  if (request_.sampling.logprobs >= 0) result_.logprobs.push_back(std::move(logprobs));
  return token;
}

int32_t RunningSequence::Fail(Status error) {
  result_.error = std::move(error);
  return -1;
}

void RunningSequence::PushPositionDigest(std::span<const float> logits) {
  static constexpr Sha256Bytes kBeforeTheFirst{};
  const Sha256Bytes& last =
      result_.position_digests.empty() ? kBeforeTheFirst : result_.position_digests.back();
  position_digest_->Update(std::as_bytes(std::span(last)));
  position_digest_->UpdateFloats(logits);
  result_.position_digests.push_back(position_digest_->Finish());
}

void RunningSequence::Accept(int num_rows, const RowLogits& rows,
                             numerics::SamplerScratch& scratch) {
  if (ended()) {
    // Cancelled by another request's callback. The step did consume the rows that were certain.
    num_accepted_rows_ = NumCertainRows(num_rows);
    state.num_consumed += num_accepted_rows_;
    state.num_accepted_drafts = 0;
    return;
  }
  const bool decoding = !in_prompt();
  const int num_logit_rows = NumLogitRows(num_rows);
  int accepted_drafts = 0;
  int tested = 0;
  for (int row = 0; row < num_logit_rows && !ended(); ++row) {
    const int32_t token = Choose(rows, row, scratch);
    if (token < 0) {
      End(FinishReason::kError);
      break;
    }
    const bool has_draft = decoding && row < num_drafts;
    const bool right = has_draft && drafts[row] == token;
    SpeculationStats& stats = result_.speculation;
    if (has_draft) {
      ++tested;
      ++stats.tested;
      ++stats.tested_at[row];
      stats.accepted += right;
      stats.accepted_at[row] += right;
    }
    Emit(token, {.drafted = right,
                 .round = decoding ? stats.rounds + 1 : 0,
                 .row = row,
                 .num_rows = decoding ? num_rows : 1});
    // The last token of a request is chosen but not consumed, even if it stands in the block as a
    // draft.
    if (!right || ended()) break;
    ++accepted_drafts;
  }
  num_accepted_rows_ = decoding ? 1 + accepted_drafts : num_rows;
  num_tested_ = tested;
  state.num_consumed += num_accepted_rows_;
  state.num_accepted_drafts = accepted_drafts;
  if (num_logit_rows > 0) output_started_ = true;
  if (decoding) {
    ++result_.speculation.rounds;
    ++result_.speculation.rounds_with_width[num_rows - 1];
    acceptance_.AddRound(tested, accepted_drafts);
  }
}

void RunningSequence::Emit(int32_t token, const TokenEvent& origin) {
  tokens_.push_back(token);
  result_.token_ids.push_back(token);
  if (sampler_) sampler_->Push(token);
  if (banned_) banned_->Push(token);
  if (constraint_) {
    if (Status status = constraint_->Push(result_.token_ids); !status.ok()) {
      Fail(std::move(status));
      return End(FinishReason::kError);
    }
  }
  const Clock::time_point now = Clock::now();
  if (!first_token_) {
    first_token_ = now;
    result_.timings.prompt_ms = Milliseconds(now - *started_);
  }
  result_.timings.predicted_ms = Milliseconds(now - *first_token_);

  // A constraint's end is one even for who ignores ends: nothing could follow.
  const bool eos = (constraint_ && constraint_->ended()) ||
                   (!request_.ignore_eos &&
                    std::ranges::find(limits_.eos_token_ids, token) != limits_.eos_token_ids.end());
  const size_t shown = result_.text.size();
  // Up to min_tokens nothing may end the text.
  const bool may_stop =
      static_cast<int64_t>(result_.token_ids.size()) > request_.sampling.min_tokens;
  if (text_ && !eos) result_.text += text_->Push(token, may_stop);
  if (eos || (text_ && text_->stopped())) {
    End(FinishReason::kStop);
  } else if (Remaining() <= 0) {
    End(FinishReason::kLength);
  }
  if (text_ && ended()) {
    result_.text += text_->Finish();
    result_.matched_stop = text_->matched_stop();
    if (text_->stopped()) finish_reason_ = FinishReason::kStop;
  }
  if (request_.on_token) {
    TokenEvent event = origin;
    event.token_id = token;
    event.text = std::string_view(result_.text).substr(shown);
    if (request_.sampling.logprobs >= 0) event.logprobs = &result_.logprobs.back();
    request_.on_token(event);
  }
}

int RunningSequence::MaxDrafts() const {
  if (ended() || in_prompt() || drafter() == SpeculationKind::kOff) return 0;
  // A block emits one token more than its right drafts; more drafts than that can't be used.
  const int64_t most =
      std::min<int64_t>({request_.speculation.draft_tokens, kMaxDraftTokens, Remaining() - 1});
  return static_cast<int>(std::max<int64_t>(most, 0));
}

void RunningSequence::SetNumDrafts(int count) {
  num_drafts = count;
  result_.speculation.drafted += count;
  for (int i = 0; i < count; ++i) ++result_.speculation.drafted_at[i];
}

void RunningSequence::End(FinishReason reason) {
  if (!ended()) finish_reason_ = reason;
}

void RunningSequence::Cancel() {
  if (ended()) return;
  // What the text still holds back is added in TakeResult: a callback that cancels may be looking
  // at the text.
  End(FinishReason::kCancelled);
}

Result RunningSequence::TakeResult() {
  result_.finish_reason = *finish_reason_;
  if (text_ && result_.finish_reason == FinishReason::kCancelled) result_.text += text_->Finish();
  if (request_.logits_digest) result_.logits_sha256 = digest_.HexDigest();
  return std::move(result_);
}

}  // namespace verbatim
