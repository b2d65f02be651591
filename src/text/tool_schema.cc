// Types of parameters from type, enum, const, $ref and the combining keywords. Not from the rest of
// JSON Schema, which says nothing about types.
#include "text/tool_schema.h"

#include <algorithm>
#include <utility>

namespace verbatim {
namespace {

using nlohmann::ordered_json;

// Published schemas combine two or three levels; a reference to itself ends here.
constexpr int kMaxLevels = 16;

unsigned NamedType(const ordered_json& name) {
  constexpr std::pair<const char*, unsigned> kNames[] = {
      {"string", kJsonString},   {"number", kJsonNumber}, {"integer", kJsonNumber},
      {"boolean", kJsonBoolean}, {"null", kJsonNull},     {"object", kJsonObject},
      {"array", kJsonArray}};
  for (const auto& [text, bit] : kNames) {
    if (name == text) return bit;
  }
  return 0;
}

// "#/$defs/name" in `root`; null if it is not there.
const ordered_json* Resolve(const ordered_json& root, const std::string& reference) {
  if (!reference.starts_with("#/")) return nullptr;
  const ordered_json* place = &root;
  for (size_t at = 2; at <= reference.size();) {
    const size_t end = std::min(reference.find('/', at), reference.size());
    if (!place->is_object()) return nullptr;
    const auto found = place->find(reference.substr(at, end - at));
    if (found == place->end()) return nullptr;
    place = &*found;
    at = end + 1;
  }
  return place;
}

unsigned AllowedTypes(const ordered_json& schema, const ordered_json& root, int levels) {
  if (!schema.is_object() || levels == 0) return kJsonAnyType;
  unsigned types = kJsonAnyType;
  const auto limit_to = [&](unsigned some) { types &= some == 0 ? kJsonAnyType : some; };
  for (const auto& [key, value] : schema.items()) {
    unsigned some = 0;
    if (key == "type") {
      some = NamedType(value);
      if (value.is_array()) {
        for (const ordered_json& name : value) some |= NamedType(name);
      }
    } else if (key == "const") {
      some = JsonTypeOf(value);
    } else if (key == "enum" && value.is_array()) {
      for (const ordered_json& one : value) some |= JsonTypeOf(one);
    } else if ((key == "anyOf" || key == "oneOf") && value.is_array()) {
      for (const ordered_json& one : value) some |= AllowedTypes(one, root, levels - 1);
    } else if (key == "allOf" && value.is_array()) {
      for (const ordered_json& one : value) limit_to(AllowedTypes(one, root, levels - 1));
    } else if (key == "$ref" && value.is_string()) {
      const ordered_json* target = Resolve(root, value.get<std::string>());
      if (target != nullptr) some = AllowedTypes(*target, root, levels - 1);
    }
    limit_to(some);
  }
  return types == 0 ? kJsonAnyType : types;
}

ToolSchema ReadTool(std::string name, const ordered_json* parameters) {
  ToolSchema tool = {.name = std::move(name), .parameters = {}};
  if (parameters == nullptr || !parameters->is_object()) return tool;
  const ordered_json& root = *parameters;
  for (int levels = kMaxLevels; levels > 0 && parameters->contains("$ref"); --levels) {
    const ordered_json& reference = (*parameters)["$ref"];
    if (!reference.is_string()) break;
    const ordered_json* target = Resolve(root, reference.get<std::string>());
    if (target == nullptr || !target->is_object()) break;
    parameters = target;
  }
  const auto properties = parameters->find("properties");
  if (properties == parameters->end() || !properties->is_object()) return tool;
  const ordered_json required = parameters->value("required", ordered_json::array());
  for (const auto& [key, schema] : properties->items()) {
    ToolParameter parameter = {
        .name = key,
        .types = AllowedTypes(schema, root, kMaxLevels),
        .schema = schema,
        .required = std::find(required.begin(), required.end(), key) != required.end()};
    if (parameter.schema.is_object()) {
      for (const char* defs : {"$defs", "definitions"}) {
        if (root.contains(defs) && !parameter.schema.contains(defs)) {
          parameter.schema[defs] = root[defs];
        }
      }
    }
    tool.parameters.push_back(std::move(parameter));
  }
  return tool;
}

}  // namespace

unsigned JsonTypeOf(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::string:
      return kJsonString;
    case ordered_json::value_t::boolean:
      return kJsonBoolean;
    case ordered_json::value_t::null:
      return kJsonNull;
    case ordered_json::value_t::object:
      return kJsonObject;
    case ordered_json::value_t::array:
      return kJsonArray;
    default:
      return kJsonNumber;
  }
}

std::vector<ToolSchema> ReadToolSchemas(const ordered_json& tools) {
  std::vector<ToolSchema> result;
  if (!tools.is_array()) return result;
  for (const ordered_json& tool : tools) {
    if (!tool.is_object()) continue;
    const auto inner = tool.find("function");
    const ordered_json& function = inner != tool.end() && inner->is_object() ? *inner : tool;
    const auto name = function.find("name");
    if (name == function.end() || !name->is_string()) continue;
    const auto parameters = function.find("parameters");
    result.push_back(
        ReadTool(name->get<std::string>(), parameters == function.end() ? nullptr : &*parameters));
  }
  return result;
}

}  // namespace verbatim
