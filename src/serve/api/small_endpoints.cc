// A field or two each.
#include "serve/api/small_endpoints.h"

#include "serve/api/field_reader.h"
#include "serve/api/json_text.h"

namespace verbatim::serve {
namespace {

constexpr size_t kMaxTokens = size_t{1} << 20;  // the longest context

bool IsObject(const Json& body, FirstFault& fault) {
  if (!body.is_object()) fault.Set("", "a JSON object", DescribeJson(body));
  return body.is_object();
}

std::string OneField(const char* key, std::string_view text) {
  Json json;
  json[key] = text;
  return DumpJson(json);
}

}  // namespace

std::variant<TokenizeRequest, ApiError> ParseTokenize(const Json& body,
                                                      const ApiLimits& /*limits*/) {
  FirstFault fault;
  if (!IsObject(body, fault)) return fault.error();
  const FieldReader reader(body, "", fault);
  TokenizeRequest request;
  request.model = reader.String("model").value_or("");
  const std::string_view key = reader.Has("content") ? "content" : "prompt";  // llama.cpp, vLLM
  if (!reader.Has(key)) reader.Missing("content", "a string");
  request.content = reader.String(key).value_or("");
  request.add_special_tokens = reader.Bool("add_special_tokens");
  if (fault.any()) return fault.error();
  return request;
}

std::string TokenizeJson(std::span<const int32_t> tokens) {
  Json json;
  json["tokens"] = std::vector<int32_t>(tokens.begin(), tokens.end());
  return DumpJson(json);
}

std::variant<DetokenizeRequest, ApiError> ParseDetokenize(const Json& body,
                                                          const ApiLimits& limits) {
  FirstFault fault;
  if (!IsObject(body, fault)) return fault.error();
  const FieldReader reader(body, "", fault);
  DetokenizeRequest request;
  request.model = reader.String("model").value_or("");
  reader.Missing("tokens", "a list of token ids");
  request.tokens = reader.TokenIds("tokens", kMaxTokens, limits.vocab_size);
  if (fault.any()) return fault.error();
  return request;
}

std::string DetokenizeJson(std::string_view content) { return OneField("content", content); }

ParsedRequest ParseApplyTemplate(const Json& body, const ApiLimits& limits) {
  return ParseChatCompletions(body, limits);
}

std::string ApplyTemplateJson(std::string_view prompt) { return OneField("prompt", prompt); }

}  // namespace verbatim::serve
