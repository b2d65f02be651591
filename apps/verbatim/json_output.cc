// Results as JSON, field by field.
#include "apps/verbatim/json_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "apps/verbatim/json_writer.h"

namespace verbatim::cli {
namespace {

void WriteTimings(int64_t prompt_tokens, const Result& result, JsonWriter& json) {
  const Timings& timings = result.timings;
  const int64_t timed = TimedTokens(result);
  const auto per_token = [](double ms, int64_t tokens) {
    return tokens > 0 ? ms / static_cast<double>(tokens) : 0.0;
  };
  json.Key("timings").BeginObject();
  json.Key("prompt_n").Integer(prompt_tokens);
  json.Key("prompt_ms").Rounded(timings.prompt_ms);
  json.Key("prompt_per_token_ms").Rounded(per_token(timings.prompt_ms, prompt_tokens));
  json.Key("prompt_per_second").Rounded(PerSecond(prompt_tokens, timings.prompt_ms));
  json.Key("predicted_n").Integer(static_cast<int64_t>(result.token_ids.size()));
  json.Key("predicted_ms").Rounded(timings.predicted_ms);
  json.Key("predicted_per_token_ms").Rounded(per_token(timings.predicted_ms, timed));
  json.Key("predicted_per_second").Rounded(PerSecond(timed, timings.predicted_ms));
  if (result.speculation.drafted > 0) {
    json.Key("draft_n").Integer(result.speculation.drafted);
    json.Key("draft_n_accepted").Integer(result.speculation.accepted);
  }
  json.EndObject();
}

void WriteTop(std::string_view key, std::span<const TokenLogprob> top, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const auto& [token_id, logprob] : top) {
    json.BeginObject().Key("token_id").Integer(token_id).Key("logprob").Float(logprob).EndObject();
  }
  json.EndArray();
}

void WriteLogprobs(const Result& result, JsonWriter& json) {
  json.Key("logprobs").BeginArray();
  for (size_t i = 0; i < result.logprobs.size(); ++i) {
    const TokenLogprobs& token = result.logprobs[i];
    json.BeginObject();
    json.Key("token_id").Integer(result.token_ids[i]);
    json.Key("logprob").Float(token.raw);
    WriteTop("top", token.top_raw, json);
    json.Key("processed_logprob").Float(token.processed);
    WriteTop("processed_top", token.top_processed, json);
    json.EndObject();
  }
  json.EndArray();
}

void WriteSampling(const SamplingOptions& sampling, const EngineInfo& info, JsonWriter& json) {
  json.Key("sampling").BeginObject();
  json.Key("temperature").Float(sampling.temperature);
  json.Key("top_k").Integer(sampling.top_k);
  json.Key("top_p").Float(sampling.top_p);
  json.Key("min_p").Float(sampling.min_p);
  json.Key("seed").Integer(static_cast<int64_t>(sampling.seed));
  json.Key("repetition_penalty").Float(sampling.repetition_penalty);
  json.Key("presence_penalty").Float(sampling.presence_penalty);
  json.Key("frequency_penalty").Float(sampling.frequency_penalty);
  json.Key("logit_bias").BeginObject();
  for (const auto& [token_id, bias] : sampling.logit_bias) {
    json.Key(fmt::format("{}", token_id)).Float(bias);
  }
  json.EndObject();
  json.Key("banned_token_ids").Integers(std::span<const int32_t>(sampling.banned_token_ids));
  json.Key("banned_strings").BeginArray();
  for (const std::string& text : sampling.banned_strings) json.String(text);
  json.EndArray();
  json.Key("min_tokens").Integer(sampling.min_tokens);
  json.Key("model_defaults").BeginArray();
  for (const std::string& field : info.default_sampling_fields) json.String(field);
  json.EndArray();
  json.EndObject();
}

void WriteSpeculation(const SpeculationOptions& options, const SpeculationStats& stats,
                      JsonWriter& json) {
  const auto positions = static_cast<size_t>(DraftPositions(stats));
  const auto by_position = [&](std::string_view key, std::span<const int64_t> counts) {
    json.Key(key).Integers(counts.first(positions));
  };
  json.Key("speculation").BeginObject();
  json.Key("kind").String(SpeculationKindName(options.kind));
  json.Key("draft_tokens");
  if (options.kind == SpeculationKind::kOff) {
    json.Integer(0);
  } else if (options.automatic) {
    json.String("auto");
  } else {
    json.Integer(options.draft_tokens);
  }
  json.Key("rounds").Integer(stats.rounds);
  json.Key("drafted").Integer(stats.drafted);
  json.Key("tested").Integer(stats.tested);
  json.Key("accepted").Integer(stats.accepted);
  by_position("drafted_at", stats.drafted_at);
  by_position("tested_at", stats.tested_at);
  by_position("accepted_at", stats.accepted_at);
  json.Key("widths").BeginObject();
  for (size_t i = 0; i < stats.rounds_with_width.size(); ++i) {
    if (stats.rounds_with_width[i] == 0) continue;
    json.Key(fmt::format("{}", i + 1)).Integer(stats.rounds_with_width[i]);
  }
  json.EndObject().EndObject();
}

void WriteContract(const EngineInfo& info, JsonWriter& json) {
  json.Key("contract").BeginObject();
  json.Key("mode").String(ContractModeName(info.contract));
  json.Key("held").String(ContractModeName(info.contract_held));
  json.Key("reason").String(info.contract_reason);
  const ProbeReport& probe = info.probe;
  json.Key("probe").BeginObject();
  json.Key("verdict").String(ProbeVerdictName(probe.verdict));
  if (!probe.op.empty()) json.Key("op").String(probe.op);
  if (probe.layer >= 0) json.Key("layer").Integer(probe.layer);
  if (probe.verdict != ProbeVerdict::kNotRun) {
    json.Key("differing_bytes").Integer(probe.differing_bytes);
    json.Key("ms").Double(probe.ms);
    json.Key("budget_ms").Double(probe.budget_ms);
    json.Key("linear_shapes").Integer(probe.linear_shapes);
    json.Key("outputs_compared").Integer(probe.outputs_compared);
    json.Key("rows_walked").Integer(probe.rows_walked);
    json.Key("layers_walked").Integer(probe.layers_walked);
  }
  json.EndObject().EndObject();
}

void WriteNumerics(const EngineInfo& info, JsonWriter& json) {
  json.Key("numerics").BeginObject();
  // NumericsName is "<profile>-<version>/kv-<type>".
  const std::string profile = info.numerics.substr(0, info.numerics.find('/'));
  const size_t dash = std::min(profile.rfind('-'), profile.size());
  int64_t version = 0;
  std::from_chars(profile.data() + std::min(dash + 1, profile.size()),
                  profile.data() + profile.size(), version);
  json.Key("profile").String(profile.substr(0, dash));
  json.Key("version").Integer(version);
  json.Key("target").String(info.target);
  json.Key("kv_type").String(info.numerics.substr(info.numerics.rfind('-') + 1));
  json.EndObject();
}

void WriteModel(const EngineInfo& info, JsonWriter& json) {
  json.Key("model").BeginObject();
  json.Key("path").String(info.model_folder);
  json.Key("type").String(info.model_type);
  json.Key("layout").String(info.layout);
  json.Key("weights").String(info.weight_types);
  json.Key("mtp").String(info.mtp_source);
  json.Key("vocab_size").Integer(info.vocab_size);
  json.Key("hidden_size").Integer(info.hidden_size);
  json.Key("weight_bytes").Integer(info.weight_bytes);
  json.Key("cache_bytes").Integer(info.cache_bytes);
  json.Key("backend").String(info.backend);
  json.Key("threads").Integer(info.num_threads);
  json.Key("context").Integer(info.context);
  json.Key("load_ms").Rounded(info.load_ms);
  json.Key("eos_token_ids").Integers(std::span<const int32_t>(info.eos_token_ids));
  json.EndObject();
}

}  // namespace

double PerSecond(int64_t tokens, double ms) {
  return ms > 0 ? static_cast<double>(tokens) * 1000 / ms : 0.0;
}

int64_t TimedTokens(const Result& result) {
  return result.token_ids.empty() ? 0 : static_cast<int64_t>(result.token_ids.size()) - 1;
}

int DraftPositions(const SpeculationStats& stats) {
  int positions = kMaxDraftTokens;
  while (positions > 0 && stats.drafted_at[positions - 1] == 0) --positions;
  return positions;
}

std::string GenerateJson(const EngineInfo& info, const SpeculationOptions& speculation,
                         const SamplingOptions& sampling, std::span<const int32_t> prompt_token_ids,
                         const Result& result) {
  const auto prompt_tokens = static_cast<int64_t>(prompt_token_ids.size());
  const auto completion_tokens = static_cast<int64_t>(result.token_ids.size());
  JsonWriter json;
  json.BeginObject();
  json.Key("text").String(result.text);
  json.Key("token_ids").Integers(std::span<const int32_t>(result.token_ids));
  json.Key("prompt_token_ids").Integers(prompt_token_ids);
  json.Key("finish_reason").String(FinishReasonName(result.finish_reason));
  if (result.matched_stop) json.Key("matched_stop").String(*result.matched_stop);
  json.Key("usage").BeginObject();
  json.Key("prompt_tokens").Integer(prompt_tokens);
  json.Key("completion_tokens").Integer(completion_tokens);
  json.Key("total_tokens").Integer(prompt_tokens + completion_tokens);
  json.EndObject();
  if (sampling.logprobs >= 0) WriteLogprobs(result, json);
  WriteSampling(sampling, info, json);
  WriteTimings(prompt_tokens, result, json);
  WriteSpeculation(speculation, result.speculation, json);
  WriteContract(info, json);
  WriteNumerics(info, json);
  json.Key("logits_sha256").String(result.logits_sha256);
  WriteModel(info, json);
  json.EndObject();
  return json.Take();
}

std::string ScoreJson(const EngineInfo& info, const ScoreRequest& request,
                      const ScoreResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Key("token_ids").Integers(std::span<const int32_t>(request.token_ids));
  json.Key("logprobs").Floats(result.logprobs);
  json.Key("perplexity").Double(result.perplexity);
  if (request.drafts) {
    json.Key("drafts").BeginObject().Key("ids").BeginArray();
    for (const auto& drafts : result.drafts) json.Integers(std::span<const int32_t>(drafts.ids));
    json.EndArray().Key("margins").BeginArray();
    for (const auto& drafts : result.drafts) json.Floats(drafts.margins);
    json.EndArray().EndObject();
  }
  WriteContract(info, json);
  WriteNumerics(info, json);
  WriteModel(info, json);
  json.EndObject();
  return json.Take();
}

}  // namespace verbatim::cli
