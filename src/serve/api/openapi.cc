// The document, with this server's numbers.
#include "serve/api/openapi.h"

#include "base/check.h"
#include "serve/api/json_text.h"
#include "serve/api/openapi_text.h"

namespace verbatim::serve {
namespace {

// Of a field's schema, {"type": ["integer", "null"], ...}.
void SetMaximum(Json& schemas, const char* request, const char* field, int64_t maximum) {
  schemas.at(request).at("properties").at(field).at("maximum") = maximum;
}

}  // namespace

std::string OpenApiDocument(std::string_view version, const ApiLimits& limits) {
  Json document = Json::parse(kOpenApiText, nullptr, false);
  VERBATIM_CHECK(!document.is_discarded());
  document["info"]["version"] = version;
  Json& schemas = document["components"]["schemas"];
  SetMaximum(schemas, "ChatCompletionRequest", "n", limits.max_n);
  SetMaximum(schemas, "CompletionRequest", "n", limits.max_n);
  SetMaximum(schemas, "ChatCompletionRequest", "top_logprobs", limits.max_top_logprobs);
  SetMaximum(schemas, "ResponsesRequest", "top_logprobs", limits.max_top_logprobs);
  SetMaximum(schemas, "CompletionRequest", "logprobs", limits.max_top_logprobs);
  if (limits.vocab_size > 0) schemas.at("TokenId")["maximum"] = limits.vocab_size - 1;
  return DumpJson(document);
}

}  // namespace verbatim::serve
