// Types and sentences.
#include "serve/transport_error.h"

#include <fmt/format.h>

#include <string>

namespace verbatim::serve {

Api ErrorFormOf(std::string_view path) {
  constexpr std::string_view kMessages = "/v1/messages";
  const bool messages = path == kMessages || (path.starts_with(kMessages) &&
                                              path.substr(kMessages.size()).starts_with('/'));
  return messages ? Api::kMessages : Api::kChatCompletions;
}

ApiError TransportError(int status, std::string_view message) {
  ApiError error = {.status = status, .message = std::string(message)};
  if (status == 408) {
    error.type = "timeout_error";
    error.code = "timeout";
  } else if (status == 503) {  // as ToApiError names what is full
    error.type = "overloaded_error";
    error.code = "overloaded";
  } else if (status >= 500) {
    error.type = "server_error";
  }
  return error;
}

ApiError NoSuchPath(std::string_view path) {
  return {.status = 404,
          .code = "not_found",
          .message = fmt::format("path: expected a path of GET /openapi.json, received {}",
                                 path.substr(0, 200))};
}

ApiError MethodNotAllowed(std::string_view allowed, std::string_view method) {
  return {
      .status = 405,
      .code = "method_not_allowed",
      .message = fmt::format("method: expected {}, received {}", allowed, method.substr(0, 20))};
}

ApiError InvalidKey() {
  return {.status = 401,
          .type = "authentication_error",
          .code = "invalid_api_key",
          .message =
              "Authorization: expected a valid API key as Bearer token or x-api-key, "
              "received none or another"};
}

ApiError HostNotAllowed(std::string_view host_header) {
  return {.status = 403,
          .type = "permission_error",
          .code = "host_not_allowed",
          .message =
              fmt::format("Host: expected localhost, 127.0.0.1 or [::1], which is where a server "
                          "without an API key answers, received {}; try --api-key-file FILE, or "
                          "--allow-public if every page may ask",
                          host_header.substr(0, 200))};
}

}  // namespace verbatim::serve
