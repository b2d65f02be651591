// Three forms into one.
#include "serve/api/tool_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace verbatim::serve {
namespace {

constexpr size_t kMaxNameBytes = 128;  // Anthropic's limit; OpenAI's is 64

// Names stand between tags and in grammars.
bool IsToolName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::ranges::all_of(name, [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '_' || c == '-' || c == '.' || c == ':' || c == '/';
         });
}

std::string ReadName(const FieldReader& function) {
  constexpr std::string_view kExpected = "a name of 1 to 128 letters, digits, _, -, ., : and /";
  function.Missing("name", kExpected);
  const std::string name = function.String("name").value_or("");
  if (!IsToolName(name)) function.Fault("name", kExpected);
  return name;
}

// The function of a tool in chat's form, its fields checked.
Json ReadFunction(const FieldReader& function, std::string_view schema_key) {
  Json made;
  made["name"] = ReadName(function);
  if (const auto description = function.String("description")) made["description"] = *description;
  if (const auto schema = function.Object(schema_key)) made["parameters"] = schema->json();
  if (const auto strict = function.Bool("strict")) made["strict"] = *strict;
  return made;
}

Json ReadTool(const FieldReader& tool, ToolForm form) {
  // Other types (web_search, computer, code_interpreter, custom, ...) are tools of a provider.
  const std::string_view type = form == ToolForm::kMessages ? "custom" : "function";
  if (form != ToolForm::kMessages) tool.Missing("type", "\"function\"");
  const auto given = tool.String("type");
  if (given && *given != type) {
    tool.Unsupported("type", fmt::format("\"{}\"", type), "a function that the client runs");
  }
  Json made;
  made["type"] = "function";
  if (form == ToolForm::kMessages) {
    made["function"] = ReadFunction(tool, "input_schema");
  } else if (form == ToolForm::kResponses) {
    made["function"] = ReadFunction(tool, "parameters");
  } else {
    tool.Missing("function", "an object");
    const auto function = tool.Object("function");
    if (!function) return made;
    ReadFunction(*function, "parameters");  // for its faults
    return tool.json();                     // every field, in the client's order
  }
  return made;
}

void ReadToolList(const FieldReader& body, ToolForm form, const ApiLimits& limits,
                  AnswerRequest& request) {
  const Json* list = body.List("tools", static_cast<size_t>(limits.max_tools));
  if (list == nullptr || list->empty()) return;
  Json tools = Json::array();
  std::set<std::string> names;
  for (size_t i = 0; i < list->size(); ++i) {
    const auto tool = body.Element("tools", *list, i);
    if (!tool) return;
    Json made = ReadTool(*tool, form);
    if (!body.ok()) return;
    const auto& name = made["function"]["name"].get_ref<const std::string&>();
    if (!names.insert(name).second) {
      return body.fault().Set(fmt::format("tools[{}]", i), "a name of its own",
                              DescribeJson(Json(name)));
    }
    tools.push_back(std::move(made));
  }
  request.tools = std::move(tools);
}

bool HasTool(const AnswerRequest& request, std::string_view name) {
  return std::ranges::any_of(request.tools, [&](const Json& tool) {
    return tool["function"]["name"].get_ref<const std::string&>() == name;
  });
}

void ReadNamed(const FieldReader& holder, AnswerRequest& request) {
  holder.Missing("name", "a tool's name");
  const auto name = holder.String("name");
  if (!name) return;
  if (request.tools.is_null() || !HasTool(request, *name)) {
    return holder.Fault("name", "the name of one of tools");
  }
  request.tool_choice = ToolChoice::kNamed;
  request.tool_name = *name;
}

// "auto", ... or {"type": "function", ...}.
void ReadOpenAiChoice(const FieldReader& body, ToolForm form, AnswerRequest& request) {
  const Json* choice = body.Find("tool_choice");
  if (choice == nullptr) return;
  if (choice->is_string()) {
    constexpr std::array<std::string_view, 3> kWords = {"auto", "none", "required"};
    constexpr std::array kChoices = {ToolChoice::kAuto, ToolChoice::kNone, ToolChoice::kRequired};
    if (const auto word = body.Word("tool_choice", kWords)) request.tool_choice = kChoices[*word];
    return;
  }
  const auto object = body.Object("tool_choice");
  if (!object) return;
  object->Missing("type", "\"function\"");
  const auto type = object->String("type");
  if (!type) return;
  if (*type != "function") return object->Unsupported("type", "\"function\"");
  if (form == ToolForm::kResponses) return ReadNamed(*object, request);
  object->Missing("function", "an object");
  if (const auto function = object->Object("function")) ReadNamed(*function, request);
}

void ReadAnthropicChoice(const FieldReader& body, AnswerRequest& request) {
  const auto object = body.Object("tool_choice");
  if (!object) return;
  constexpr std::array<std::string_view, 4> kTypes = {"auto", "none", "any", "tool"};
  object->Missing("type", R"("auto", "none", "any" or "tool")");
  const auto type = object->Word("type", kTypes);
  if (!type) return;
  if (kTypes[*type] == "none") request.tool_choice = ToolChoice::kNone;
  if (kTypes[*type] == "any") request.tool_choice = ToolChoice::kRequired;
  if (kTypes[*type] == "tool") ReadNamed(*object, request);
  request.parallel_tool_calls = !object->Bool("disable_parallel_tool_use").value_or(false);
}

}  // namespace

void ReadTools(const FieldReader& body, ToolForm form, const ApiLimits& limits,
               AnswerRequest& request) {
  ReadToolList(body, form, limits, request);
  if (form == ToolForm::kMessages) {
    ReadAnthropicChoice(body, request);
  } else {
    request.parallel_tool_calls = body.Bool("parallel_tool_calls").value_or(true);
    ReadOpenAiChoice(body, form, request);
  }
  if (request.tool_choice == ToolChoice::kRequired && request.tools.is_null()) {
    body.Fault("tool_choice", "\"auto\" or \"none\" where there are no tools");
  }
}

}  // namespace verbatim::serve
