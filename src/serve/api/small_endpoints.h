// The bodies of the small endpoints: /tokenize, /detokenize, /apply-template. Not what answers
// them.
#ifndef VERBATIM_SERVE_API_SMALL_ENDPOINTS_H_
#define VERBATIM_SERVE_API_SMALL_ENDPOINTS_H_

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "serve/api/answer_request.h"

namespace verbatim::serve {

// {"content" or "prompt": text, "add_special_tokens": bool}
struct TokenizeRequest {
  std::string model = {};  // empty: not named
  std::string content = {};
  std::optional<bool> add_special_tokens = {};  // not given: the tokenizer's own way
};
std::variant<TokenizeRequest, ApiError> ParseTokenize(const Json& body, const ApiLimits& limits);

// {"tokens": [...]}
std::string TokenizeJson(std::span<const int32_t> tokens);

// {"tokens": [ids]}
struct DetokenizeRequest {
  std::string model = {};
  std::vector<int32_t> tokens = {};
};
std::variant<DetokenizeRequest, ApiError> ParseDetokenize(const Json& body,
                                                          const ApiLimits& limits);

// {"content": text}; bytes that are not UTF-8 become U+FFFD.
std::string DetokenizeJson(std::string_view content);

// Chat's messages, tools, chat_template_kwargs, add_generation_prompt and thinking, as
// ParseChatCompletions reads them; the other fields of a chat request may be there.
ParsedRequest ParseApplyTemplate(const Json& body, const ApiLimits& limits);

// {"prompt": text}
std::string ApplyTemplateJson(std::string_view prompt);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_SMALL_ENDPOINTS_H_
