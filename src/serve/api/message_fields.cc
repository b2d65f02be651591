// Content and arguments.
#include "serve/api/message_fields.h"

#include <fmt/format.h>

namespace verbatim::serve {
namespace {

constexpr size_t kMaxParts = 65536;  // more than a body of ordinary parts has

std::string TypeList(std::span<const std::string_view> types) {
  std::string list;
  for (const std::string_view type : types) {
    list += fmt::format("{}\"{}\"", list.empty() ? "" : " or ", type);
  }
  return list;
}

std::string PartText(const FieldReader& part, std::span<const std::string_view> types) {
  part.Missing("type", TypeList(types));
  const auto type = part.String("type");
  if (!type) return {};
  for (const std::string_view known : types) {
    if (*type != known) continue;
    const std::string_view key = known == "refusal" ? "refusal" : "text";
    part.Missing(key, "a string");
    return part.String(key).value_or("");
  }
  part.Unsupported("type", TypeList(types), "text: this server reads nothing else");
  return {};
}

}  // namespace

std::optional<std::string> ReadText(const FieldReader& object, std::string_view key,
                                    std::span<const std::string_view> types) {
  const Json* content = object.Find(key);
  if (content == nullptr) return std::nullopt;
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    object.Fault(key, "a string or a list of parts");
    return std::nullopt;
  }
  if (object.List(key, kMaxParts) == nullptr) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < content->size() && object.ok(); ++i) {
    if (const auto part = object.Element(key, *content, i)) text += PartText(*part, types);
  }
  return text;
}

Json ReadArguments(const FieldReader& object, std::string_view key) {
  const Json* arguments = object.Find(key);
  if (arguments == nullptr) return Json::object();
  if (arguments->is_object()) return *arguments;
  if (arguments->is_string()) {
    const auto& text = arguments->get_ref<const std::string&>();
    if (text.empty()) return Json::object();
    auto parsed = ParseBody(text, {});
    if (auto* json = std::get_if<Json>(&parsed); json != nullptr && json->is_object()) {
      return std::move(*json);
    }
  }
  object.Fault(key, "the JSON text of an object");
  return Json::object();
}

Json ToolCallMessage(std::string id, std::string name, Json arguments) {
  Json call;
  call["type"] = "function";
  if (!id.empty()) call["id"] = std::move(id);
  call["function"]["name"] = std::move(name);
  call["function"]["arguments"] = std::move(arguments);
  return call;
}

void AppendMessage(Json& messages, Json message) {
  if (messages.size() == 1 && messages[0]["role"] == "system" && message["role"] == "system") {
    auto& text = messages[0]["content"].get_ref<std::string&>();
    text += "\n\n";
    text += message["content"].get_ref<const std::string&>();
    return;
  }
  messages.push_back(std::move(message));
}

void CheckNotEmpty(const FieldReader& body, std::string_view key, const Json& messages) {
  if (messages.empty()) body.Fault(key, "at least one message");
}

}  // namespace verbatim::serve
