// Many names for five kinds.
#include "serve/api/constraint_fields.h"

#include <fmt/format.h>

#include <array>

#include "serve/api/json_text.h"

namespace verbatim::serve {
namespace {

// What a grammar compiler reads in its time limit; larger ones fail there with its words.
constexpr size_t kMaxChoices = 1024;
constexpr size_t kMaxChoiceBytes = 4096;

class ConstraintReader {
 public:
  ConstraintReader(const FieldReader& body, AnswerRequest& request)
      : body_(body), constraint_(request.constraint), set_by_(request.constraint_field) {}

  // The `format` of OpenAI's Responses API, of Anthropic, and (with `wrapped`: the schema stands in
  // an object of its own) response_format.
  void Format(const FieldReader& object, std::string_view key) {
    const auto format = object.Object(key);
    if (!format) return;
    constexpr std::array<std::string_view, 3> kTypes = {"text", "json_object", "json_schema"};
    format->Missing("type", R"("text", "json_object" or "json_schema")");
    const auto type = format->Word("type", kTypes);
    if (!type || *type == 0) return;
    const FieldReader* holder = &*format;
    const auto wrapped = format->Find("json_schema") != nullptr && *type == 2
                             ? format->Object("json_schema")
                             : std::nullopt;
    if (wrapped) holder = &*wrapped;
    if (holder->Has("schema")) return Schema(*holder, "schema");
    if (*type == 2 && !wrapped) holder->Missing("schema", "a JSON schema");
    Set(object, key, ConstraintKind::kJsonObject, "");
  }

  // An object, or true or false, or (vLLM) the text of one.
  void Schema(const FieldReader& object, std::string_view key) {
    const Json* schema = object.Find(key);
    if (schema == nullptr) return;
    if (schema->is_string()) {
      const auto parsed = ParseBody(schema->get_ref<const std::string&>(), {});
      if (const auto* json = std::get_if<Json>(&parsed); json != nullptr && IsSchema(*json)) {
        return Set(object, key, ConstraintKind::kJsonSchema, DumpJson(*json));
      }
    } else if (IsSchema(*schema)) {
      return Set(object, key, ConstraintKind::kJsonSchema, DumpJson(*schema));
    }
    object.Fault(key, "a JSON schema");
  }

  void Text(const FieldReader& object, std::string_view key, ConstraintKind kind) {
    const auto text = object.String(key);
    if (!text) return;
    if (text->empty()) return object.Fault(key, "a text that is not empty");
    Set(object, key, kind, *text);
  }

  void Choice(const FieldReader& object, std::string_view key) {
    if (!object.Has(key)) return;
    const std::vector<std::string> choices = object.Texts(key, kMaxChoices, kMaxChoiceBytes, false);
    if (!object.ok()) return;
    if (choices.empty()) return object.Fault(key, "at least one choice");
    Set(object, key, ConstraintKind::kRegex, ChoiceRegex(choices));
  }

  void JsonObject(const FieldReader& object, std::string_view key) {
    if (object.Bool(key).value_or(false)) Set(object, key, ConstraintKind::kJsonObject, "");
  }

 private:
  static bool IsSchema(const Json& json) { return json.is_object() || json.is_boolean(); }

  void Set(const FieldReader& object, std::string_view key, ConstraintKind kind, std::string text) {
    if (constraint_.kind != ConstraintKind::kNone) {
      return body_.fault().Set(object.Path(key), "one constraint",
                               fmt::format("another beside {}", set_by_));
    }
    set_by_ = object.Path(key);
    constraint_.kind = kind;
    constraint_.text = std::move(text);
  }

  const FieldReader& body_;
  ConstraintOptions& constraint_;
  std::string& set_by_;
};

}  // namespace

std::string ChoiceRegex(std::span<const std::string> choices) {
  constexpr std::string_view kSpecial = R"(\.+*?()|[]{}^$)";
  std::string regex = "(?:";
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) regex += '|';
    for (const char c : choices[i]) {
      if (kSpecial.find(c) != std::string_view::npos) regex += '\\';
      regex += c;
    }
  }
  return regex + ")";
}

void ReadConstraint(const FieldReader& body, AnswerRequest& request) {
  ConstraintReader reader(body, request);
  reader.Format(body, "response_format");
  for (const std::string_view key : {"text", "output_config"}) {
    const Json* holder = body.Find(key);
    if (holder == nullptr || !holder->is_object()) continue;
    reader.Format(FieldReader(*holder, std::string(key), body.fault()), "format");
  }
  reader.Schema(body, "json_schema");
  reader.Schema(body, "guided_json");
  reader.Text(body, "guided_regex", ConstraintKind::kRegex);
  reader.Choice(body, "guided_choice");
  reader.Text(body, "guided_grammar", ConstraintKind::kGrammar);
  if (const auto outputs = body.Object("structured_outputs")) {
    reader.Schema(*outputs, "json");
    reader.Text(*outputs, "regex", ConstraintKind::kRegex);
    reader.Choice(*outputs, "choice");
    reader.Text(*outputs, "grammar", ConstraintKind::kGrammar);
    reader.JsonObject(*outputs, "json_object");
    if (outputs->Has("structural_tag")) outputs->Unsupported("structural_tag", "none", "grammar");
  }
}

}  // namespace verbatim::serve
