// A table of types.
#include "serve/transport_error.h"

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

}  // namespace verbatim::serve
