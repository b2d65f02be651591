// What must hold for every body: a request within the engine's ranges and the server's limits, with
// messages as templates take them, or a refusal that names a field in one line.
#include "fuzz/api_entries.h"

#include <string>

#include "fuzz/check_fault.h"
#include "fuzz/split_input.h"
#include "serve/api/answer_request.h"
#include "serve/api/small_endpoints.h"

namespace verbatim::fuzz {
namespace {

using serve::AnswerRequest;
using serve::ApiError;
using serve::Json;

void CheckRefusal(const ApiError& error) {
  CheckFaultText(error.message);
  VERBATIM_CHECK(error.status == 400);
  VERBATIM_CHECK(error.message.size() < 2048);
  for (const serve::Api api : {serve::Api::kChatCompletions, serve::Api::kMessages}) {
    VERBATIM_CHECK(!Json::parse(serve::ErrorJson(error, api, "id"), nullptr, false).is_discarded());
  }
}

template <typename Value>
bool IsWithin(Value value, Value low, Value high) {
  return value >= low && value <= high;  // no NaN
}

void CheckSampling(const SamplingOptions& sampling, const serve::ApiLimits& limits) {
  VERBATIM_CHECK(sampling.temperature == 0 ||
                 IsWithin(sampling.temperature, kMinTemperature, kMaxTemperature));
  VERBATIM_CHECK(IsWithin(sampling.top_p, 0.0F, 1.0F) && IsWithin(sampling.min_p, 0.0F, 1.0F));
  VERBATIM_CHECK(sampling.top_k >= 0 && sampling.min_tokens >= 0);
  VERBATIM_CHECK(sampling.repetition_penalty > 0 && sampling.repetition_penalty <= kMaxPenalty);
  VERBATIM_CHECK(IsWithin(sampling.presence_penalty, -kMaxPenalty, kMaxPenalty));
  VERBATIM_CHECK(IsWithin(sampling.frequency_penalty, -kMaxPenalty, kMaxPenalty));
  VERBATIM_CHECK(sampling.logprobs >= -1 && sampling.logprobs <= limits.max_top_logprobs);
  for (const auto& [id, bias] : sampling.logit_bias) {
    VERBATIM_CHECK(id >= 0 && id < limits.vocab_size && IsWithin(bias, -kMaxBias, kMaxBias));
  }
  for (const int32_t id : sampling.banned_token_ids) {
    VERBATIM_CHECK(id >= 0 && id < limits.vocab_size);
  }
  for (const std::string& text : sampling.banned_strings) VERBATIM_CHECK(!text.empty());
}

void CheckMessages(const AnswerRequest& request) {
  if (request.api == serve::Api::kCompletions) {
    VERBATIM_CHECK(!request.prompts.empty());
    return;
  }
  VERBATIM_CHECK(request.messages.is_array() && !request.messages.empty());
  for (const Json& message : request.messages) {
    VERBATIM_CHECK(message.at("role").is_string() && message.at("content").is_string());
    if (!message.contains("tool_calls")) continue;
    for (const Json& call : message.at("tool_calls")) {
      VERBATIM_CHECK(call.at("function").at("name").is_string());
      VERBATIM_CHECK(call.at("function").at("arguments").is_object());
    }
  }
  VERBATIM_CHECK(request.tools.is_null() || (request.tools.is_array() && !request.tools.empty()));
}

void CheckRequest(const serve::ParsedRequest& parsed, const serve::ApiLimits& limits) {
  if (const auto* error = std::get_if<ApiError>(&parsed)) return CheckRefusal(*error);
  const auto& request = std::get<AnswerRequest>(parsed);
  CheckSampling(request.sampling, limits);
  CheckMessages(request);
  VERBATIM_CHECK(request.n >= 1 && request.n <= limits.max_n);
  VERBATIM_CHECK(!request.max_tokens || IsWithin(*request.max_tokens, int64_t{1}, limits.context));
  VERBATIM_CHECK(request.stop.size() <= static_cast<size_t>(limits.max_stop));
  for (const std::string& text : request.stop) {
    VERBATIM_CHECK(!text.empty() && text.size() <= limits.max_stop_bytes);
  }
  VERBATIM_CHECK(!request.draft_tokens || IsWithin(*request.draft_tokens, 0, kMaxDraftTokens));
  VERBATIM_CHECK((request.tool_choice == serve::ToolChoice::kNamed) == !request.tool_name.empty());
}

template <typename Request>
void CheckSmall(const std::variant<Request, ApiError>& parsed) {
  if (const auto* error = std::get_if<ApiError>(&parsed)) CheckRefusal(*error);
}

}  // namespace

void FuzzApiBody(std::span<const std::byte> bytes) {
  serve::ApiLimits limits;
  limits.context = 4096;
  limits.vocab_size = 1000;
  const auto parsed = serve::ParseBody(SplitInput(bytes, 1)[0], limits);
  if (const auto* error = std::get_if<ApiError>(&parsed)) return CheckRefusal(*error);
  const Json& body = std::get<Json>(parsed);
  CheckRequest(serve::ParseChatCompletions(body, limits), limits);
  CheckRequest(serve::ParseCompletions(body, limits), limits);
  CheckRequest(serve::ParseResponses(body, limits), limits);
  CheckRequest(serve::ParseMessages(body, limits), limits);
  CheckSmall(serve::ParseTokenize(body, limits));
  CheckSmall(serve::ParseDetokenize(body, limits));
}

}  // namespace verbatim::fuzz
