// Which HTTP status and which of the APIs' types a refusal has.
#include "serve/api/api_error.h"

#include <nlohmann/json.hpp>

namespace verbatim::serve {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string_view AnthropicType(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

}  // namespace

ApiError ToApiError(const Status& status, std::string_view param) {
  ApiError error;
  error.message = status.message();
  error.param = param;
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      break;
    case StatusCode::kUnsupported:
      error.code = "unsupported_value";
      break;
    case StatusCode::kNotFound:
      error.status = 404;
      error.code = "not_found";
      break;
    case StatusCode::kResourceExhausted:
      error.status = 503;
      error.type = "overloaded_error";
      error.code = "overloaded";
      error.retry_after_s = 1;  // a sequence's memory is free again after its answer, in seconds
      break;
    default:
      error.status = 500;
      error.type = "server_error";
      error.code = StatusCodeName(status.code());
      break;
  }
  return error;
}

std::string ErrorJson(const ApiError& error, Api api, std::string_view request_id) {
  Json body;
  if (api == Api::kMessages) {
    body["type"] = "error";
    body["error"] = {{"type", AnthropicType(error.status)}, {"message", error.message}};
    body["request_id"] = OrNull(std::string(request_id));
  } else {
    body["error"] = {{"message", error.message},
                     {"type", error.type},
                     {"param", OrNull(error.param)},
                     {"code", OrNull(error.code)}};
  }
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace verbatim::serve
