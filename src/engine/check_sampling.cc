// Range by range.
#include "engine/check_sampling.h"

#include <fmt/format.h>

#include <set>

#include "text/banned_strings.h"

namespace verbatim {
namespace {

Status Refuse(std::string_view where, std::string_view expected, std::string_view received) {
  return MakeError(StatusCode::kInvalidArgument, where, expected, received);
}

// NaN is in no range.
Status CheckRange(std::string_view where, float value, float low, float high) {
  if (value >= low && value <= high) return {};
  return Refuse(where, fmt::format("{} to {}", low, high), fmt::format("{}", value));
}

Status CheckId(std::string_view where, int32_t id, int64_t vocab_size) {
  if (id >= 0 && id < vocab_size) return {};
  return Refuse(where, fmt::format("ids of 0 to {}", vocab_size - 1), fmt::format("{}", id));
}

}  // namespace

Status CheckSampling(const SamplingOptions& options, int64_t vocab_size) {
  if (options.temperature != 0 &&
      !(options.temperature >= kMinTemperature && options.temperature <= kMaxTemperature)) {
    return Refuse("temperature", fmt::format("0 or {} to {}", kMinTemperature, kMaxTemperature),
                  fmt::format("{}", options.temperature));
  }
  if (options.top_k < 0) return Refuse("top_k", "at least 0", fmt::format("{}", options.top_k));
  VERBATIM_RETURN_IF_ERROR(CheckRange("top_p", options.top_p, 0, 1));
  VERBATIM_RETURN_IF_ERROR(CheckRange("min_p", options.min_p, 0, 1));
  if (!(options.repetition_penalty > 0 && options.repetition_penalty <= kMaxPenalty)) {
    return Refuse("repetition_penalty", fmt::format("above 0, at most {}", kMaxPenalty),
                  fmt::format("{}", options.repetition_penalty));
  }
  VERBATIM_RETURN_IF_ERROR(
      CheckRange("frequency_penalty", options.frequency_penalty, -kMaxPenalty, kMaxPenalty));
  VERBATIM_RETURN_IF_ERROR(
      CheckRange("presence_penalty", options.presence_penalty, -kMaxPenalty, kMaxPenalty));
  std::set<int32_t> biased;
  for (const auto& [id, bias] : options.logit_bias) {
    VERBATIM_RETURN_IF_ERROR(CheckId("logit_bias", id, vocab_size));
    VERBATIM_RETURN_IF_ERROR(CheckRange("logit_bias", bias, -kMaxBias, kMaxBias));
    if (!biased.insert(id).second) {
      return Refuse("logit_bias", "an id at most once", fmt::format("{} twice", id));
    }
  }
  for (const int32_t id : options.banned_token_ids) {
    VERBATIM_RETURN_IF_ERROR(CheckId("banned_token_ids", id, vocab_size));
  }
  VERBATIM_RETURN_IF_ERROR(BannedStrings::Check(options.banned_strings));
  if (options.min_tokens < 0) {
    return Refuse("min_tokens", "at least 0", fmt::format("{}", options.min_tokens));
  }
  if (options.logprobs < -1 || options.logprobs > kMaxTopLogprobs) {
    return Refuse("logprobs", fmt::format("0 to {}, or -1 for none", kMaxTopLogprobs),
                  fmt::format("{}", options.logprobs));
  }
  return {};
}

}  // namespace verbatim
