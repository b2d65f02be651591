// Teacher-forced scoring: the same forward as generation, every row certain, drafts looked at but
// never used.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "engine/check_logits.h"
#include "engine/engine_impl.h"
#include "numerics/argmax.h"

namespace verbatim {

Expected<ScoreResult> Engine::Impl::Score(const ScoreRequest& request) {
  const int64_t num_tokens = static_cast<int64_t>(request.token_ids.size());
  const auto refuse = [](std::string_view where, std::string_view expected,
                         std::string_view received) {
    return MakeError(StatusCode::kInvalidArgument, where, expected, received);
  };
  if (num_tokens < 2 || num_tokens > options.context) {
    return refuse("score token ids", fmt::format("2 to {} tokens", options.context),
                  fmt::format("{}", num_tokens));
  }
  for (const int32_t id : request.token_ids) {
    if (id < 0 || id >= info.vocab_size) {
      return refuse("score token ids", fmt::format("ids of 0 to {}", info.vocab_size - 1),
                    fmt::format("{}", id));
    }
  }
  if (request.width < 1 || request.width > max_rows) {
    return refuse("width", fmt::format("1 to {}", max_rows), fmt::format("{}", request.width));
  }
  if (request.drafts && mtp_drafter == nullptr) {
    return MakeError(StatusCode::kUnsupported, "score drafts", "an MTP head", info.mtp_source,
                     "a checkpoint with mtp weights or --draft-model");
  }
  if (!running.empty() || !waiting.empty() || !ready.empty() || in_step) {
    return refuse("score", "no running request", "one");
  }

  ScoreResult result;
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, AcquireState(num_tokens));
  Status status;
  while (status.ok() && state.num_consumed < num_tokens) {
    const int num_rows =
        static_cast<int>(std::min<int64_t>(request.width, num_tokens - state.num_consumed));
    status = ScoreRows(request, state, num_rows, result);
  }
  ReleaseState(state);
  if (!status.ok()) return status;

  // The perplexity is for people; its sum need not be pinned, so binary64 is right for it.
  const double sum = std::accumulate(result.logprobs.begin(), result.logprobs.end(), 0.0);
  result.perplexity = std::exp(-sum / static_cast<double>(result.logprobs.size()));
  return result;
}

Status Engine::Impl::ScoreRows(const ScoreRequest& request, SequenceState& state, int num_rows,
                               ScoreResult& result) {
  const std::span<const int32_t> ids = request.token_ids;
  const int64_t first = state.num_consumed;
  const ops::SequenceRows rows = {.num_rows = num_rows,
                                  .num_certain = num_rows,
                                  .first_slot = static_cast<int>(first),
                                  .first_position = static_cast<int>(first),
                                  .pages = state.PagesFor(first + num_rows),
                                  .recurrent_slot = state.recurrent_slot};
  model->Forward(ids.subspan(first, num_rows), {.sequences = {&rows, 1}, .num_rows = num_rows},
                 caches);

  const int64_t vocab_size = info.vocab_size;
  const int64_t hidden_size = info.hidden_size;
  std::vector<float> hidden(hidden_size * num_rows);
  backend->CopyToHost(hidden.data(), model->hidden(), hidden.size() * sizeof(float));
  std::vector<int32_t> logit_rows;
  for (int begin = 0; begin < num_rows; begin += max_logit_rows) {
    const int count = std::min(max_logit_rows, num_rows - begin);
    logit_rows.resize(count);
    std::iota(logit_rows.begin(), logit_rows.end(), begin);
    backend->CopyToHost(host_logits.data(), model->Logits(logit_rows),
                        vocab_size * count * sizeof(float));
    for (int i = 0; i < count; ++i) {
      const int64_t position = first + begin + i;
      const std::span<const float> logits(host_logits.data() + vocab_size * i, vocab_size);
      VERBATIM_RETURN_IF_ERROR(CheckLogits(logits, "position", position));
      if (request.on_row) {
        VERBATIM_RETURN_IF_ERROR(request.on_row(
            logits,
            std::span<const float>(hidden).subspan((begin + i) * hidden_size, hidden_size)));
      }
      if (position + 1 < static_cast<int64_t>(ids.size())) {
        result.logprobs.push_back(numerics::LogProbability(logits, ids[position + 1]));
      }
    }
  }
  state.num_consumed += num_rows;
  return request.drafts ? ScoreDrafts(request, state, num_rows, result) : Status();
}

// Row by row, so that each position's drafts see the head's rows up to it and no later ones.
Status Engine::Impl::ScoreDrafts(const ScoreRequest& request, SequenceState& state, int num_rows,
                                 ScoreResult& result) {
  SequenceState at_row = state;
  for (int row = 0; row < num_rows; ++row) {
    const int64_t position = state.num_consumed - num_rows + row;
    if (position + 1 == static_cast<int64_t>(request.token_ids.size())) break;
    at_row.num_consumed = position + 1;
    ScoreResult::Drafts drafts;
    DraftJob job = {.state = &at_row,
                    .tokens = request.token_ids,
                    .first_row = row,
                    .num_rows = 1,
                    .max_drafts = ScoreResult::kDraftDepth,
                    .drafts = drafts.ids.data()};
    mtp_drafter->ProposeWithMargins(job, model->hidden(), drafts.margins.data());
    result.drafts.push_back(drafts);
  }
  state.num_draft_rows = at_row.num_draft_rows;
  return {};
}

}  // namespace verbatim
