// What tool definitions say of their parameters, as far as a format that writes arguments as plain
// text needs it. Not a validator of JSON schemas.
#ifndef VERBATIM_TEXT_TOOL_SCHEMA_H_
#define VERBATIM_TEXT_TOOL_SCHEMA_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verbatim {

// JSON's types as bits; integers are numbers.
enum JsonTypes : unsigned {
  kJsonString = 1,
  kJsonNumber = 2,
  kJsonBoolean = 4,
  kJsonNull = 8,
  kJsonObject = 16,
  kJsonArray = 32,
  kJsonAnyType = 63,
};

unsigned JsonTypeOf(const nlohmann::ordered_json& value);

struct ToolParameter {
  std::string name;
  unsigned types = kJsonAnyType;  // that its schema allows
  nlohmann::ordered_json schema;  // its own, with the root's $defs and definitions
  bool required = false;
};

struct ToolSchema {
  std::string name;
  std::vector<ToolParameter> parameters;  // in the schema's order
};

// Of OpenAI's tool definitions: a list of {"type": "function", "function": {"name", "parameters"}},
// or of the inner objects themselves. What is not a function with a name is left out.
std::vector<ToolSchema> ReadToolSchemas(const nlohmann::ordered_json& tools);

}  // namespace verbatim

#endif  // VERBATIM_TEXT_TOOL_SCHEMA_H_
