// Errors made outside of an API's own code, in the form that the path's clients read. Not their
// statuses: the transport (http/) and the routes (server.cc) know those.
#ifndef VERBATIM_SERVE_TRANSPORT_ERROR_H_
#define VERBATIM_SERVE_TRANSPORT_ERROR_H_

#include <string_view>

#include "serve/api/api_error.h"

namespace verbatim::serve {

// Anthropic's clients read errors of their own form, at /v1/messages and below it; all others
// OpenAI's, also where the path is not known (empty).
Api ErrorFormOf(std::string_view path);

// What the transport refused (4xx) or couldn't do (5xx), with the type that belongs to the status.
ApiError TransportError(int status, std::string_view message);

// What the routes refuse. What a client sent is cut to a length that a log line bears.
ApiError NoSuchPath(std::string_view path);
ApiError MethodNotAllowed(std::string_view allowed, std::string_view method);
ApiError InvalidKey();
ApiError HostNotAllowed(std::string_view host_header);  // http/local_host.h says why

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_TRANSPORT_ERROR_H_
