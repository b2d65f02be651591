// How tokens are chosen: the fields of OpenAI, vLLM and llama.cpp. Ranges are the engine's
// (verbatim/sampling.h), which hold those of OpenAI.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "serve/api/request_fields.h"
#include "text/banned_strings.h"

namespace verbatim::serve {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

void Set(std::optional<float> given, float& value) {
  if (given) value = *given;
}

// {"50256": -100}: ids as the keys of an object.
void ReadLogitBias(const FieldReader& body, const ApiLimits& limits, SamplingOptions& sampling) {
  const auto object = body.Object("logit_bias");
  if (!object) return;
  sampling.logit_bias.clear();
  for (const auto& [key, bias] : object->json().items()) {
    int32_t id = -1;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool canonical = read.ec == std::errc() && read.ptr == key.data() + key.size() &&
                           fmt::format("{}", id) == key;  // else "5" and "05" were one id twice
    if (!canonical || id < 0 || id >= limits.vocab_size) {
      return body.fault().Set("logit_bias",
                              fmt::format("token ids from 0 to {} as keys", limits.vocab_size - 1),
                              DescribeJson(Json(key)));
    }
    if (bias.is_null()) continue;
    const auto value = object->Number(key, {.low = -kMaxBias, .high = kMaxBias});
    if (!value) return;
    sampling.logit_bias.push_back({.token_id = id, .bias = *value});
  }
}

// -1 is vLLM's and llama.cpp's "draw one"; the other negative integers of OpenAI's 64 bits are
// seeds like any other.
void ReadSeed(const FieldReader& body, AnswerRequest& request) {
  const Json* seed = body.Find("seed");
  if (seed == nullptr) return;
  if (seed->is_number_unsigned()) {
    request.seed = seed->get<uint64_t>();
  } else if (seed->is_number_integer()) {
    if (*seed != -1) request.seed = static_cast<uint64_t>(seed->get<int64_t>());
  } else {
    body.Fault("seed", "an integer of 64 bits");
  }
}

// 0 is greedy; what lies between it and the engine's least has no reciprocal in binary32.
void ReadTemperature(const FieldReader& body, SamplingOptions& sampling) {
  const auto temperature = body.Number("temperature", {.low = 0, .high = kMaxTemperature});
  if (!temperature) return;
  if (*temperature != 0 && *temperature < kMinTemperature) {
    return body.Fault("temperature",
                      fmt::format("0 or a number from {} to {}", kMinTemperature, kMaxTemperature));
  }
  sampling.temperature = *temperature;
}

}  // namespace

void ReadSampling(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  SamplingOptions& sampling = request.sampling;
  sampling = limits.default_sampling;
  sampling.logprobs = -1;
  ReadTemperature(body, sampling);
  Set(body.Number("top_p", {.low = 0, .high = 1}), sampling.top_p);
  Set(body.Number("min_p", {.low = 0, .high = 1}), sampling.min_p);
  // vLLM and llama.cpp: -1 or 0 keep all.
  if (const auto top_k = body.Integer("top_k", -1, kMost)) {
    sampling.top_k = *top_k < 0 ? 0 : *top_k;
  }
  const NumberRange repetition = {.low = 0, .high = kMaxPenalty, .above_low = true};
  Set(body.Number("repeat_penalty", repetition), sampling.repetition_penalty);
  Set(body.Number("repetition_penalty", repetition), sampling.repetition_penalty);
  const NumberRange penalty = {.low = -kMaxPenalty, .high = kMaxPenalty};
  Set(body.Number("presence_penalty", penalty), sampling.presence_penalty);
  Set(body.Number("frequency_penalty", penalty), sampling.frequency_penalty);
  ReadLogitBias(body, limits, sampling);
  ReadSeed(body, request);
  if (const auto tokens = body.Integer("min_tokens", 0, kMost)) sampling.min_tokens = *tokens;
  for (const std::string_view key : {"bad_words", "banned_strings"}) {
    if (!body.Has(key)) continue;
    sampling.banned_strings =
        body.Texts(key, BannedStrings::kMaxStrings, BannedStrings::kMaxBytes, false);
  }
  if (body.Has("banned_token_ids")) {
    sampling.banned_token_ids = body.TokenIds(
        "banned_token_ids", static_cast<size_t>(limits.vocab_size), limits.vocab_size);
  }
  request.ignore_eos = body.Bool("ignore_eos").value_or(false);
}

}  // namespace verbatim::serve
