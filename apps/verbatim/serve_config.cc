// TOML to options: every value goes through the option's own check.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "apps/verbatim/serve_options.h"
#include "base/mapped_file.h"

namespace verbatim::cli {
namespace {

constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// As it would stand on a command line; nullopt: a type that no option has.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return std::nullopt;
}

Status BadValue(const std::string& where, std::string_view expected, const toml::node& node) {
  std::ostringstream type;
  type << node.type();
  return MakeError(StatusCode::kInvalidArgument, where, expected,
                   fmt::format("a value of type {}", type.str()));
}

Status AddValue(const OptionSpec& option, const std::string& where, const toml::node& node,
                CommandLine& line) {
  if (option.kind == ValueKind::kFlag) {
    const auto* value = node.as_boolean();
    if (value == nullptr) return BadValue(where, "true or false", node);
    return value->get() ? line.Add(option, "") : Status();
  }
  const auto text = TextOf(node);
  if (!text) return BadValue(where, fmt::format("a text or number {}", option.value_name), node);
  Status status = line.Add(option, *text);
  if (status.ok()) return status;
  return {status.code(), fmt::format("[{}] {}", where, status.message())};
}

}  // namespace

Expected<CommandLine> WithConfigFile(CommandLine line) {
  if (!line.Given("config")) return line;
  const std::string path = line.Text("config");
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxConfigBytes));
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    const auto& place = parsed.error().source().begin;
    return MakeError(StatusCode::kInvalidArgument,
                     fmt::format("{} line {} column {}", path, place.line, place.column), "TOML",
                     std::string(parsed.error().description()));
  }
  const std::vector<const OptionSpec*> options = OptionsOf(Verb::kServe);
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    const std::string where = fmt::format("{} {}", path, name);
    const auto found = std::ranges::find_if(options, [&](const OptionSpec* option) {
      return option->name == name && name != "config" && name != "help";
    });
    if (found == options.end()) {
      return MakeError(StatusCode::kInvalidArgument, where, "the name of an option of serve",
                       "another", "verbatim serve --help");
    }
    const OptionSpec& option = **found;
    if (line.Given(option.name)) continue;  // the command line goes first
    if (const toml::array* list = node.as_array(); list != nullptr && option.repeated) {
      for (const toml::node& element : *list) {
        VERBATIM_RETURN_IF_ERROR(AddValue(option, where, element, line));
      }
    } else {
      VERBATIM_RETURN_IF_ERROR(AddValue(option, where, node, line));
    }
  }
  return line;
}

}  // namespace verbatim::cli
