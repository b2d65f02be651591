// The OpenAPI document is whole, and what the parsers read and the writers write is in it.
#include "serve/api/openapi.h"

#include <functional>
#include <random>
#include <set>

#include "tests/serve/api/answer_support.h"
#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

Json Document() { return Json::parse(OpenApiDocument("1.2.3", TestLimits())); }

TEST(OpenApi, HasVersionLimitsAndEveryEndpoint) {
  const Json document = Document();
  EXPECT_EQ(document["info"]["version"], "1.2.3");
  EXPECT_EQ(document["openapi"], "3.1.0");
  const Json& schemas = document["components"]["schemas"];
  EXPECT_EQ(schemas["TokenId"]["maximum"], 999);
  EXPECT_EQ(schemas["ChatCompletionRequest"]["properties"]["n"]["maximum"], TestLimits().max_n);
  std::set<std::string> paths;
  for (const auto& [path, operations] : document["paths"].items()) paths.insert(path);
  EXPECT_EQ(paths, (std::set<std::string>{"/v1/chat/completions", "/v1/completions",
                                          "/v1/responses", "/v1/messages", "/v1/models",
                                          "/v1/models/{id}", "/tokenize", "/detokenize",
                                          "/apply-template", "/health", "/metrics", "/version"}));
}

TEST(OpenApi, ReferencesLeadSomewhere) {
  const Json document = Document();
  int references = 0;
  const std::function<void(const Json&)> walk = [&](const Json& value) {
    if (value.is_object() && value.contains("$ref")) {
      ++references;
      const auto target = value["$ref"].get<std::string>();
      ASSERT_TRUE(target.starts_with("#/"));
      EXPECT_TRUE(document.contains(Json::json_pointer(target.substr(1)))) << target;
    }
    if (value.is_structured()) {
      for (const Json& inner : value) walk(inner);
    }
  };
  walk(document);
  EXPECT_GT(references, 100);
}

// Just as much of JSON Schema as the document uses, without conditions on texts.
class Validator {
 public:
  Validator() : document_(Document()) {}

  // The place and fault, or "".
  std::string Check(const Json& value, const std::string& schema_name) const {
    return Check(value, document_["components"]["schemas"][schema_name], schema_name);
  }

 private:
  static bool HasType(const Json& value, const std::string& type) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    return type == "array" ? value.is_array() : value.is_object();
  }

  std::string Check(const Json& value, const Json& schema, const std::string& place) const {
    const auto fault = [&] { return place + ": " + value.dump() + " is not " + schema.dump(); };
    if (schema.contains("$ref")) {
      const auto target = schema["$ref"].get<std::string>();
      return Check(value, document_.at(Json::json_pointer(target.substr(1))), place);
    }
    if (schema.contains("anyOf")) {
      for (const Json& choice : schema["anyOf"]) {
        if (Check(value, choice, place).empty()) return {};
      }
      return fault();
    }
    if (schema.contains("const") && value != schema["const"]) return fault();
    if (schema.contains("type")) {
      const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
      bool fits = false;
      for (const Json& type : types) fits = fits || HasType(value, type.get<std::string>());
      if (!fits) return fault();
    }
    if (schema.contains("enum")) {
      bool found = false;
      for (const Json& word : schema["enum"]) found = found || word == value;
      if (!found) return fault();
    }
    if (value.is_number() && ((schema.contains("minimum") && value < schema["minimum"]) ||
                              (schema.contains("maximum") && value > schema["maximum"]))) {
      return fault();
    }
    return CheckInner(value, schema, place);
  }

  std::string CheckInner(const Json& value, const Json& schema, const std::string& place) const {
    if (value.is_array()) {
      if (schema.contains("minItems") && value.size() < schema["minItems"]) return place + ": few";
      if (schema.contains("maxItems") && value.size() > schema["maxItems"]) return place + ": many";
      for (size_t i = 0; schema.contains("items") && i < value.size(); ++i) {
        std::string fault = Check(value[i], schema["items"], place + "[" + std::to_string(i) + "]");
        if (!fault.empty()) return fault;
      }
    }
    if (!value.is_object()) return {};
    for (const Json& key : schema.value("required", Json::array())) {
      if (!value.contains(key)) return place + ": no " + key.dump();
    }
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, inner] : value.items()) {
      if (!properties.contains(key)) continue;
      std::string fault = Check(inner, properties[key], place + "." + key);
      if (!fault.empty()) return fault;
    }
    return {};
  }

  const Json document_;
};

TEST(OpenApi, WholeAnswersFit) {
  const Validator validator;
  constexpr const char* kSchemas[] = {"ChatCompletion", "Completion", "Response", "Message"};
  for (const Api api : kAllApis) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      std::mt19937_64 random(seed);
      const AnswerScript script = RandomAnswer(api, random);
      const Json answer = Json::parse(Write(script, PartsByStep(script), false));
      EXPECT_EQ(validator.Check(answer, kSchemas[static_cast<int>(api)]), "");
    }
  }
}

TEST(OpenApi, ErrorsFit) {
  const Validator validator;
  const ApiError error = {.param = "n", .message = "m"};
  EXPECT_EQ(validator.Check(Json::parse(ErrorJson(error, Api::kResponses, "r")), "Error"), "");
  EXPECT_EQ(validator.Check(Json::parse(ErrorJson(error, Api::kMessages, "r")), "AnthropicError"),
            "");
}

// A field with every kind of value: what the document allows is accepted, and what it refuses is
// refused by the name of the field.
TEST(OpenApi, FieldsMeanWhatTheParsersRead) {
  const Json document = Document();
  const Validator validator;
  constexpr const char* kSchemas[] = {"ChatCompletionRequest", "CompletionRequest",
                                      "ResponsesRequest", "MessagesRequest"};
  const std::vector<std::string> values = {"null",      "true",       "false",
                                           "0",         "1",          "-1",
                                           "2",         "20",         "21",
                                           "1.5",       "-0.5",       "1e300",
                                           "1000",      "\"\"",       "{}",
                                           "[]",        "[1]",        "[-1]",
                                           "[1000]",    "\"a\"",      "[\"a\"]",
                                           "[\"\"]",    "\"none\"",   "\"off\"",
                                           "\"exact\"", "{\"5\": 1}", "{\"type\": \"text\"}"};
  int accepted = 0;
  int refused = 0;
  for (const Api api : kAllApis) {
    const char* const schema = kSchemas[static_cast<int>(api)];
    for (const auto& [field, ignored] :
         document["components"]["schemas"][schema]["properties"].items()) {
      // Their faults depend on other fields, or are the template's and the grammar's to find.
      if (field == "tool_choice" || field == "top_logprobs" || field == "min_tokens") continue;
      for (const std::string& value : values) {
        const std::string text = BodyWith(api, "\"" + field + "\": " + value);
        const Json body = Json::parse(text);
        if (value == "null" && body[field].is_null() &&
            (field == "prompt" || field == "messages" || field == "input" ||
             field == "max_tokens")) {
          continue;  // demanded
        }
        const std::string fault = validator.Check(body, schema);
        const ParsedRequest parsed = ParseText(api, text);
        const auto* error = std::get_if<ApiError>(&parsed);
        if (fault.empty() && error == nullptr) ++accepted;
        if (!fault.empty() && error != nullptr) {
          ++refused;
          EXPECT_TRUE(error->param.starts_with(field)) << text << ": " << error->message;
        }
        // The validator reads no lengths and patterns of texts, and names of keys.
        if (fault.empty() && error != nullptr) {
          EXPECT_TRUE(value.find("\"\"") != value.npos || field == "logit_bias" || value == "\"a\"")
              << text << ": " << error->message;
        }
        if (!fault.empty()) {
          EXPECT_NE(error, nullptr) << text << ": " << fault;
        }
      }
    }
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace verbatim::serve::testing
