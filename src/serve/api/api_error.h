// ApiError: a refusal in the terms of HTTP and the APIs. Not a Status, which knows no HTTP.
#ifndef VERBATIM_SERVE_API_API_ERROR_H_
#define VERBATIM_SERVE_API_API_ERROR_H_

#include <string>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim::serve {

enum class Api { kChatCompletions, kCompletions, kResponses, kMessages };

struct ApiError {
  int status = 400;
  std::string type = "invalid_request_error";
  std::string code = {};   // "context_length_exceeded", "model_not_found", ...; empty: null
  std::string param = {};  // the field, "messages[2].content"; empty: null
  std::string message = {};
  int retry_after_s = 0;  // of 429 and 503; 0: no such header
};

// kInvalidArgument: 400; kNotFound: 404; kUnsupported: 400; kResourceExhausted: 503; else 500.
ApiError ToApiError(const Status& status, std::string_view param = {});

// {"error": {"message", "type", "param", "code"}}; Anthropic's form for kMessages.
std::string ErrorJson(const ApiError& error, Api api, std::string_view request_id);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_API_ERROR_H_
