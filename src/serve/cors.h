// CORS: which pages of other origins may read answers. Not who may ask (http/api_keys.h).
#ifndef VERBATIM_SERVE_CORS_H_
#define VERBATIM_SERVE_CORS_H_

#include <memory>
#include <string>
#include <vector>

#include "serve/http/http_server.h"

namespace verbatim::serve {

// Whether the request's Origin is one of `allowed`, or "*" is.
bool AllowsOrigin(const std::vector<std::string>& allowed, const HttpRequest& request);

// The headers that let the request's origin, which is allowed, read a response.
void AddCorsHeaders(const HttpRequest& request, std::vector<HttpHeader>& headers);

// To OPTIONS from an allowed origin. Every header that the page wants to send is allowed: clients
// have dozens of their own (x-stainless-..., anthropic-...), and none of them lets anybody in.
void RespondToPreflight(HttpExchange& exchange);

// The exchange, with AddCorsHeaders for whatever it answers.
std::shared_ptr<HttpExchange> WithCors(std::shared_ptr<HttpExchange> exchange);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_CORS_H_
