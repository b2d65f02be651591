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

// To OPTIONS from an allowed origin.
void RespondToPreflight(HttpExchange& exchange);

// The exchange, with the headers that let the request's origin read the response.
std::shared_ptr<HttpExchange> WithCors(std::shared_ptr<HttpExchange> exchange);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_CORS_H_
