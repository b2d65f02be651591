// Counts and rates.
#include "serve/api/writer_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"

namespace verbatim::serve {
namespace {

double Ratio(double dividend, double divisor) { return divisor > 0 ? dividend / divisor : 0; }

template <size_t kSize>
Json Leading(const std::array<int64_t, kSize>& counts, size_t size) {
  return Json(std::vector<int64_t>(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(size)));
}

// How many leading counts there are up to the last that is not 0.
size_t Used(std::span<const int64_t> counts) {
  size_t size = counts.size();
  while (size > 0 && counts[size - 1] == 0) --size;
  return size;
}

int NumChoices(const AnswerRequest& request) {
  switch (request.api) {
    case Api::kChatCompletions:
      return request.n;
    case Api::kCompletions:
      return request.n * static_cast<int>(std::max<size_t>(request.prompts.size(), 1));
    default:
      return 1;
  }
}

}  // namespace

Json TimingsJson(const ChoiceEnd& end) {
  const int64_t computed = end.prompt_tokens - end.cached_prompt_tokens;
  const auto prompt = static_cast<double>(computed);
  const auto timed = static_cast<double>(std::max<int64_t>(end.completion_tokens - 1, 0));
  const Timings& timings = end.timings;
  Json json;
  json["cache_n"] = end.cached_prompt_tokens;
  json["prompt_n"] = computed;
  json["prompt_ms"] = JsonRate(timings.prompt_ms);
  json["prompt_per_token_ms"] = JsonRate(Ratio(timings.prompt_ms, prompt));
  json["prompt_per_second"] = JsonRate(1000 * Ratio(prompt, timings.prompt_ms));
  json["predicted_n"] = end.completion_tokens;
  json["predicted_ms"] = JsonRate(timings.predicted_ms);
  json["predicted_per_token_ms"] = JsonRate(Ratio(timings.predicted_ms, timed));
  json["predicted_per_second"] = JsonRate(1000 * Ratio(timed, timings.predicted_ms));
  if (end.speculation.drafted > 0) {
    json["draft_n"] = end.speculation.drafted;
    json["draft_n_accepted"] = end.speculation.accepted;
  }
  return json;
}

Json SpeculationMetricsJson(const SpeculationStats& stats) {
  if (stats.drafted == 0) return nullptr;
  const size_t width = Used(stats.drafted_at);
  const int64_t steps = stats.drafted_at[0];  // every step with drafts has a first one
  Json histogram = Json::array();             // [k]: steps in which k drafts were accepted
  int64_t at_least = steps;
  for (size_t k = 0; k < width; ++k) {
    histogram.push_back(at_least - stats.accepted_at[k]);
    at_least = stats.accepted_at[k];
  }
  histogram.push_back(at_least);
  const auto accepted = static_cast<double>(stats.accepted);
  Json json;
  json["mean_acceptance_length"] = JsonRate(1 + Ratio(accepted, static_cast<double>(steps)));
  json["draft_acceptance_rate"] = JsonRate(Ratio(accepted, static_cast<double>(stats.drafted)));
  json["acceptance_histogram"] = std::move(histogram);
  json["num_spec_steps"] = steps;
  json["num_accepted_draft_tokens"] = stats.accepted;
  json["num_draft_tokens"] = stats.drafted;
  json["num_spec_tokens"] = width;
  return json;
}

Json SpeculationJson(const ChoiceEnd& end) {
  const SpeculationStats& stats = end.speculation;
  const size_t width = Used(stats.drafted_at);
  Json json;
  json["kind"] = end.speculation_kind;
  json["rounds"] = stats.rounds;
  json["drafted"] = stats.drafted;
  json["tested"] = stats.tested;
  json["accepted"] = stats.accepted;
  json["drafted_at"] = Leading(stats.drafted_at, width);
  json["tested_at"] = Leading(stats.tested_at, width);
  json["accepted_at"] = Leading(stats.accepted_at, width);
  json["rounds_with_width"] = Leading(stats.rounds_with_width, Used(stats.rounds_with_width));
  return json;
}

Json VerbatimJson(const ChoiceEnd& end) {
  Json json;
  if (!end.logits_sha256.empty()) json["logits_sha256"] = end.logits_sha256;
  if (!end.receipt.empty()) {
    Json receipt = Json::parse(end.receipt, nullptr, false);
    // This server's own text; VERBATIM_CHECK would end other clients' answers, too.
    json["receipt"] = receipt.is_discarded() ? Json(end.receipt) : std::move(receipt);
  }
  json["prompt_tokens"] = end.prompt_tokens;
  json["cached_prompt_tokens"] = end.cached_prompt_tokens;
  json["completion_tokens"] = end.completion_tokens;
  json["reasoning_tokens"] = end.reasoning_tokens;
  json["speculation"] = SpeculationJson(end);
  return json;
}

Json LogprobJson(const ReportedToken& token) {
  Json json;
  json["token"] = LossyUtf8(token.text);
  json["logprob"] = JsonFloat(token.logprobs.raw);
  json["bytes"] = JsonBytes(token.text);
  Json top = Json::array();
  for (size_t i = 0; i < token.logprobs.top_raw.size() && i < token.top.size(); ++i) {
    top.push_back({{"token", LossyUtf8(token.top[i])},
                   {"logprob", JsonFloat(token.logprobs.top_raw[i].logprob)},
                   {"bytes", JsonBytes(token.top[i])}});
  }
  json["top_logprobs"] = std::move(top);
  return json;
}

Json TokenJson(const ReportedToken& token) {
  Json json;
  json["id"] = token.id;
  json["text"] = LossyUtf8(token.text);
  json["bytes"] = JsonBytes(token.text);
  json["drafted"] = token.drafted;
  json["block"] = token.block;
  json["row"] = token.row;
  json["block_rows"] = token.block_rows;
  return json;
}

std::string ToolCallId(std::string_view prefix, const AnswerHead& head, int choice, int call) {
  return fmt::format("{}{}_{}_{}", prefix, head.id, choice, call);
}

std::string_view FinishReasonWord(const ChoiceEnd& end) {
  if (end.finish_reason == FinishReason::kLength) return "length";
  return end.called_tools ? "tool_calls" : "stop";
}

Json StopReasonJson(const ChoiceEnd& end) {
  return end.has_matched_stop ? Json(end.matched_stop) : Json(nullptr);
}

bool Continues(const AnswerDelta& previous, const AnswerDelta& next) {
  return next.kind == previous.kind && next.kind != AnswerDelta::Kind::kToolCall &&
         (next.kind != AnswerDelta::Kind::kToolCallArguments ||
          next.tool_call == previous.tool_call);
}

std::vector<AnswerDelta> Joined(const std::vector<AnswerDelta>& deltas) {
  std::vector<AnswerDelta> joined;
  for (const AnswerDelta& delta : deltas) {
    if (delta.text.empty() && delta.kind != AnswerDelta::Kind::kToolCall) continue;
    if (!joined.empty() && Continues(joined.back(), delta)) {
      joined.back().text += delta.text;
    } else {
      joined.push_back(delta);
    }
  }
  return joined;
}

WriterBase::WriterBase(const AnswerRequest& request, AnswerHead head)
    : api_(request.api),
      stream_(request.stream),
      include_usage_(request.include_usage),
      logprobs_(request.sampling.logprobs >= 0),
      token_details_(request.token_details),
      head_(std::move(head)),
      ends_(static_cast<size_t>(NumChoices(request))),
      n_(request.n) {}

WriterBase::Usage WriterBase::TotalUsage() const {
  Usage usage = {.prompt = head_.prompt_tokens};
  for (size_t i = 0; i < ends_.size(); ++i) {
    if (!ends_[i]) continue;
    // A prompt of several choices is counted once, and so is what the cache had of it.
    if (i % static_cast<size_t>(n_) == 0) usage.cached += ends_[i]->cached_prompt_tokens;
    usage.completion += ends_[i]->completion_tokens;
    usage.reasoning += ends_[i]->reasoning_tokens;
  }
  return usage;
}

Json WriterBase::OpenAiUsageJson() const {
  const Usage usage = TotalUsage();
  Json json;
  json["prompt_tokens"] = usage.prompt;
  json["completion_tokens"] = usage.completion;
  json["total_tokens"] = usage.prompt + usage.completion;
  json["prompt_tokens_details"] = {{"cached_tokens", usage.cached}};
  json["completion_tokens_details"] = {{"reasoning_tokens", usage.reasoning}};
  return json;
}

void WriterBase::AddMetrics(Json& body) const {
  if (!single() || !ends_[0]) return;
  Json metrics = SpeculationMetricsJson(ends_[0]->speculation);
  if (!metrics.is_null()) body["metrics"] = {{"speculative_decoding", std::move(metrics)}};
}

void WriterBase::AddTimings(Json& body) const {
  if (single() && ends_[0]) body["timings"] = TimingsJson(*ends_[0]);
}

void WriterBase::SetEnd(const ChoiceEnd& end) { ends_[ChoiceIndex(end.choice)] = end; }

size_t WriterBase::ChoiceIndex(int choice) const {
  VERBATIM_CHECK(choice >= 0 && choice < num_choices());
  return static_cast<size_t>(choice);
}

std::unique_ptr<AnswerWriter> MakeAnswerWriter(const AnswerRequest& request, AnswerHead head) {
  switch (request.api) {
    case Api::kChatCompletions:
      return MakeChatWriter(request, std::move(head));
    case Api::kCompletions:
      return MakeCompletionsWriter(request, std::move(head));
    case Api::kResponses:
      return MakeResponsesWriter(request, std::move(head));
    case Api::kMessages:
      return MakeMessagesWriter(request, std::move(head));
  }
  VERBATIM_CHECK(false);
  return nullptr;
}

}  // namespace verbatim::serve
