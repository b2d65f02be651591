// OpenApiDocument: what this server answers, in OpenAPI 3.1. Not the answers.
#ifndef VERBATIM_SERVE_API_OPENAPI_H_
#define VERBATIM_SERVE_API_OPENAPI_H_

#include <string>
#include <string_view>

#include "serve/api/answer_request.h"

namespace verbatim::serve {

// The JSON text of openapi.json with the server's version in it, and limits where they are not the
// usual ones.
std::string OpenApiDocument(std::string_view version, const ApiLimits& limits);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_OPENAPI_H_
