// Their table, and the one of them that was given.
#include "apps/verbatim/constraint_options.h"

#include <fmt/format.h>

#include "base/mapped_file.h"

namespace verbatim::cli {
namespace {

constexpr size_t kMaxConstraintBytes = size_t{1} << 20;  // as text/grammar.h takes them

struct Source {
  const char* option;
  ConstraintKind kind;
  bool is_file;
};
constexpr Source kSources[] = {{"json-schema", ConstraintKind::kJsonSchema, false},
                               {"json-schema-file", ConstraintKind::kJsonSchema, true},
                               {"regex", ConstraintKind::kRegex, false},
                               {"grammar-file", ConstraintKind::kGrammar, true}};

}  // namespace

std::vector<OptionSpec> ConstraintOptionSpecs() {
  const auto option = [](std::string_view name, std::string_view value, std::string_view help) {
    return OptionSpec{.name = name,
                      .kind = ValueKind::kText,
                      .value_name = value,
                      .section = "Constraint",
                      .verbs = {Verb::kGenerate},
                      .help = help};
  };
  return {
      option("json-schema", "JSON", "The text is JSON that this schema allows; {} is any JSON"),
      option("json-schema-file", "FILE", "The same, with the schema in a file"),
      option("regex", "REGEX", "The whole text matches this regular expression"),
      option("grammar-file", "FILE",
             "The text is one of this grammar, in llguidance's Lark dialect"),
  };
}

Expected<ConstraintOptions> ReadConstraint(const CommandLine& line) {
  ConstraintOptions constraint;
  const char* given = nullptr;
  for (const Source& source : kSources) {
    if (!line.Given(source.option)) continue;
    const std::string label = fmt::format("--{}", source.option);
    if (given != nullptr) {
      return MakeError(StatusCode::kInvalidArgument, label, fmt::format("no --{} beside it", given),
                       "both", "one of them");
    }
    given = source.option;
    constraint.kind = source.kind;
    constraint.text = line.Text(source.option);
    if (source.is_file) {
      VERBATIM_ASSIGN_OR_RETURN(constraint.text,
                                ReadTextFile(line.Text(source.option), kMaxConstraintBytes));
    }
  }
  return constraint;
}

}  // namespace verbatim::cli
