// A Lark grammar (llguidance's dialect) of calls in qwen35_format.h's form. Not the parser of such
// calls.
#include <fmt/format.h>

#include <algorithm>

#include "text/qwen35_format.h"
#include "text/tool_schema.h"

namespace verbatim::qwen35_format {
namespace {

using nlohmann::ordered_json;

// How each value ends; the line break in front is not part of it.
constexpr std::string_view kValueEnd = "\n</parameter>\n";

// Text as the parser reads it back, up to the first </parameter>, in pieces between which nothing
// has to be looked up: llguidance then takes whole slices of the vocabulary at once. LT is what may
// begin that tag and does not become it.
constexpr std::string_view kTextRules =
    "PLAIN: /[^<\\n]+/\n"
    "LT: /<(\\/(p(a(r(a(m(e(t(e(r[^<>\\n])?)?)?)?)?)?)?)?)?)?/\n"
    "text: (PLAIN | LT | \"\\n\")* \"\\n\" \"</parameter>\\n\"\n";

// The same for texts that must meet conditions, a hundred times slower.
constexpr std::string_view kConditionedTextRule =
    "TEXT: /(?s:.*)/ & ~/(?s:.*)<\\/parameter>(?s:.*)/\n";

// A Lark literal, whose escapes are JSON's.
std::string Literal(std::string_view text) { return ordered_json(text).dump(); }

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         name.find_first_of(kNotInNames) == name.npos;
}

// A JSON schema's pattern, which may match anywhere in a text, as a Lark regex of whole texts. Its
// \d and \w are ASCII's, as in ECMAScript.
std::string PatternRegex(std::string_view pattern) {
  std::string head = "(?s:.*)";
  std::string tail = head;
  if (pattern.starts_with('^')) {
    pattern.remove_prefix(1);
    head.clear();
  }
  if (pattern.ends_with('$') && !pattern.ends_with("\\$")) {
    pattern.remove_suffix(1);
    tail.clear();
  }
  std::string inner;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 'd') {
        inner += "[0-9]";
      } else if (escaped == 'w') {
        inner += "[A-Za-z0-9_]";
      } else {
        inner += {'\\', escaped};
      }
    } else if (pattern[i] == '/') {
      inner += "\\/";
    } else if (pattern[i] == '\n') {
      inner += "\\n";
    } else {
      inner += pattern[i];
    }
  }
  return fmt::format("/{}(?:{}){}/", head, inner, tail);
}

// A value from a list: strings as they are, the rest as JSON.
std::string OneOf(const ordered_json& values) {
  std::string out;
  for (const ordered_json& value : values) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    out += fmt::format("{}{}", out.empty() ? "(" : " | ", Literal(text));
  }
  return out + ") " + Literal(kValueEnd);
}

// The rules that a text's schema adds to TEXT; none: an empty string.
std::string TextConditions(const ordered_json& schema) {
  std::string out;
  if (!schema.is_object()) return out;
  const auto length = [&](const char* key, size_t& value) {
    const auto found = schema.find(key);
    if (found == schema.end() || !found->is_number_unsigned()) return false;
    value = found->get<size_t>();
    return true;
  };
  size_t least = 0;
  size_t most = 0;
  const bool has_least = length("minLength", least);
  const bool has_most = length("maxLength", most);
  if (has_least || has_most) {
    out += fmt::format(" & /(?s:.{{{},{}}})/", least, has_most ? fmt::format("{}", most) : "");
  }
  const auto pattern = schema.find("pattern");
  if (pattern != schema.end() && pattern->is_string()) {
    out += " & " + PatternRegex(pattern->get<std::string>());
  }
  return out;
}

// A model could go on with blanks for ever. JSON schemas of their own get the same bound in
// grammar.rs, which says why it is what it is.
ordered_json WithBoundedBlanks(ordered_json schema) {
  if (schema.is_object() && !schema.contains("x-guidance")) {
    schema["x-guidance"] = {{"whitespace_pattern", R"([\x20\x0A\x0D\x09]{1,65})"}};
  }
  return schema;
}

// The rules of parameter `index` of tool `tool_index`: the value with what ends it.
std::string ParameterRules(const std::string& rule, const ToolParameter& parameter) {
  const ordered_json& schema = parameter.schema;
  std::string head =
      fmt::format("{}: {} ", rule, Literal(fmt::format("{}{}>\n", kParameter, parameter.name)));
  if (schema.is_object() && schema.contains("const")) {
    return head + OneOf(ordered_json::array({schema["const"]})) + "\n";
  }
  if (schema.is_object() && schema.contains("enum") && schema["enum"].is_array() &&
      !schema["enum"].empty()) {
    return head + OneOf(schema["enum"]) + "\n";
  }
  // A text that is of no other type is a string, so that any text fits.
  if ((parameter.types & kJsonString) == 0) {
    return fmt::format("{}%json {} {}\n", head, WithBoundedBlanks(schema).dump(),
                       Literal(kValueEnd));
  }
  const std::string conditions = parameter.types == kJsonString ? TextConditions(schema) : "";
  if (conditions.empty()) return head + "text\n";
  const std::string terminal = "TEXT_" + rule.substr(2);  // behind "p_"
  return fmt::format("{}v_{}\nv_{}[suffix={}]: {}\n{}: TEXT{}\n", head, rule, rule,
                     Literal(kValueEnd), terminal, terminal, conditions);
}

Status BadName(std::string_view tool, std::string_view name) {
  return MakeError(
      StatusCode::kInvalidArgument, fmt::format("tool {}", tool),
      fmt::format("names of 1 to {} bytes without <, > and line breaks", kMaxNameBytes),
      fmt::format("'{}'", name));
}

}  // namespace

Expected<std::string> ToolCallGrammar(const ordered_json& tools, std::string_view only,
                                      bool several) {
  const std::vector<ToolSchema> schemas = ReadToolSchemas(tools);
  std::string calls;
  std::string rules;
  for (size_t i = 0; i < schemas.size(); ++i) {
    const ToolSchema& tool = schemas[i];
    if (!only.empty() && tool.name != only) continue;
    if (!IsName(tool.name)) return BadName(tool.name, tool.name);
    const std::string rule = fmt::format("call_{}", i);
    calls += (calls.empty() ? "" : " | ") + rule;
    std::string body = Literal(fmt::format("{}\n{}{}>\n", kToolCall, kFunction, tool.name));
    for (size_t j = 0; j < tool.parameters.size(); ++j) {
      const ToolParameter& parameter = tool.parameters[j];
      if (!IsName(parameter.name)) return BadName(tool.name, parameter.name);
      const std::string name = fmt::format("p_{}_{}", i, j);
      body += fmt::format(" {}{}", name, parameter.required ? "" : "?");
      rules += ParameterRules(name, parameter);
    }
    rules += fmt::format("{}: {} {}\n", rule, body,
                         Literal(fmt::format("{}\n{}", kEndFunction, kEndToolCall)));
  }
  if (calls.empty()) {
    return MakeError(StatusCode::kInvalidArgument, "tools",
                     only.empty() ? "at least one function" : fmt::format("a function '{}'", only),
                     only.empty() ? "none" : "other names");
  }
  // Line breaks in front: behind </think> there are two.
  return fmt::format("start: (\"\\n\" \"\\n\"?)? call{}\ncall: {}\n{}{}{}",
                     several ? " (\"\\n\" call)*" : "", calls, rules, kTextRules,
                     kConditionedTextRule);
}

}  // namespace verbatim::qwen35_format
