// AnswerRequest: what a request of any of the four APIs asks for, in one form. Not the wire forms
// themselves (chat_completions.h, completions.h, responses.h, messages.h).
#ifndef VERBATIM_SERVE_API_ANSWER_REQUEST_H_
#define VERBATIM_SERVE_API_ANSWER_REQUEST_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "serve/api/api_error.h"
#include "verbatim/constraint.h"
#include "verbatim/contract.h"
#include "verbatim/request.h"
#include "verbatim/sampling.h"

namespace verbatim::serve {

using Json = nlohmann::ordered_json;  // the given order of keys, which templates print

enum class ToolChoice { kAuto, kNone, kRequired, kNamed };

// A prompt of /v1/completions.
using CompletionPrompt = std::variant<std::string, std::vector<int32_t>>;

struct AnswerRequest {
  Api api = Api::kChatCompletions;
  std::string model = {};  // as the client names it; empty: not named

  // kCompletions: one answer (n choices) to each. Otherwise empty.
  std::vector<CompletionPrompt> prompts = {};
  bool echo = false;

  // The other APIs: messages in the form that chat templates take (role, content as text,
  // reasoning_content, tool_calls with arguments as objects, tool_call_id), system first.
  Json messages = nullptr;
  Json tools = nullptr;            // OpenAI's [{"type": "function", "function": {...}}], or null
  Json template_kwargs = nullptr;  // chat_template_kwargs
  std::optional<bool> enable_thinking = {};
  bool add_generation_prompt = true;
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_name = {};  // kNamed
  // The answer must be a call, so that the text is constrained.
  bool demands_call() const {
    return tool_choice == ToolChoice::kRequired || tool_choice == ToolChoice::kNamed;
  }
  bool parallel_tool_calls = true;

  std::optional<int64_t> max_tokens = {};  // not given: what the context leaves
                                           // (kCompletions: 16, which OpenAI has)
  std::vector<std::string> stop = {};
  bool ignore_eos = false;
  SamplingOptions sampling = {};  // ApiLimits::default_sampling with the request's fields over it;
                                  // .logprobs as the request asks
  std::optional<uint64_t> seed = {};  // not given: the server draws one
  ConstraintOptions constraint = {};  // begin_after is the server's to fill in
  std::string constraint_field = {};  // the one that it came in, for errors
  int n = 1;

  bool stream = false;
  bool include_usage = false;

  // Extensions.
  std::optional<ContractMode> contract = {};
  bool receipt = false;
  bool logits_digest = false;
  bool token_details = false;  // per token: id, drafted or not, its block and row
  std::optional<SpeculationKind> speculation = {};  // kOff, kMtp, kNgram or kReplay
  std::vector<int32_t> replay = {};                 // kReplay: what the client expects as output
  std::optional<int> draft_tokens = {};             // 0: automatic

  // kResponses: echoed in the response object.
  Json echoed = nullptr;
};

struct ApiLimits {
  SamplingOptions default_sampling = {};  // the model's
  int64_t context = 0;
  int64_t vocab_size = 0;
  int max_n = 16;
  int max_prompts = 64;
  int max_stop = 16;
  size_t max_stop_bytes = 1024;
  int max_top_logprobs = 20;
  int max_json_depth = 64;
  int max_messages = 4096;
  int max_tools = 256;
};

// Each reads one API's body. Unknown fields are accepted; known ones of a wrong type or value are
// refused by name (ApiError::param). Fields that OpenAI has and that would change the answer here
// without being supported are refused, not dropped.
using ParsedRequest = std::variant<AnswerRequest, ApiError>;
ParsedRequest ParseChatCompletions(const Json& body, const ApiLimits& limits);
ParsedRequest ParseCompletions(const Json& body, const ApiLimits& limits);
ParsedRequest ParseResponses(const Json& body, const ApiLimits& limits);
ParsedRequest ParseMessages(const Json& body, const ApiLimits& limits);

// A body's JSON: UTF-8, no duplicate nesting games: at most limits.max_json_depth deep, one value.
std::variant<Json, ApiError> ParseBody(std::string_view body, const ApiLimits& limits);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_ANSWER_REQUEST_H_
