// Splitting with CLI11; every message is ours. Not the table of options.
#include "apps/verbatim/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "apps/verbatim/foreign_options.h"
#include "base/check.h"

namespace verbatim::cli {
namespace {

Status UsageError(std::string_view where, std::string_view expected, std::string_view received,
                  std::string_view advice) {
  return MakeError(StatusCode::kInvalidArgument, where, expected, received, advice);
}

std::string HelpOf(const VerbSpec& verb) { return fmt::format("verbatim {} --help", verb.name); }

// Levenshtein distance, for "did you mean".
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The candidate nearest to `name`, if it is near: one edit in three characters is a typo, more is
// another word. Two edits at most.
std::string Nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const size_t length = name.size() - std::min(name.find_first_not_of('-'), name.size());
  size_t best = std::min(length / 3, size_t{2}) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

// CLI11's list of names: "-t,--threads,--other".
std::string NamesOf(const OptionSpec& option) {
  if (option.positional) return std::string(option.name);
  std::string names = option.letter != 0 ? fmt::format("-{},", option.letter) : "";
  names += fmt::format("--{}", option.name);
  for (std::string_view alias : option.aliases) names += fmt::format(",--{}", alias);
  return names;
}

// CLI11 would take the next argument as the value of "--name=".
Status RefuseEmptyAssignment(const std::vector<const OptionSpec*>& options,
                             const std::vector<std::string>& arguments, const VerbSpec& verb) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (!argument.starts_with("--") || argument.find('=') + 1 != argument.size()) continue;
    const std::string name = argument.substr(2, argument.size() - 3);
    for (const OptionSpec* option : options) {
      if (option->name != name && std::ranges::count(option->aliases, name) == 0) continue;
      return UsageError(OptionLabel(*option), "a value after =", "nothing", HelpOf(verb));
    }
  }
  return Status();
}

Status StrayArgument(const std::string& argument, const VerbSpec& verb,
                     const std::vector<const OptionSpec*>& options, bool model_given) {
  const bool takes_model = std::ranges::any_of(
      options, [](const OptionSpec* option) { return option->name == "model"; });
  return UsageError("argument", fmt::format("only options of verbatim {}", verb.name), argument,
                    takes_model && !model_given ? "-m " + argument : HelpOf(verb));
}

Status UnknownOption(const std::string& name, const VerbSpec& verb,
                     const std::vector<const OptionSpec*>& options) {
  if (const ForeignOption* foreign = FindForeignOption(name)) {
    return UsageError(name, foreign->expected, "an option of other programs", foreign->advice);
  }
  if (!name.starts_with("--") && name.size() > 2) {
    return UsageError(
        name, "one letter after a single dash", name,
        fmt::format("separate options, or two dashes; verbatim {} --help lists them", verb.name));
  }
  std::vector<std::string> known;
  for (const OptionSpec* option : options) {
    // Nobody who mistypes another option wants help instead.
    if (option->positional || option->name == "help") continue;
    known.push_back(fmt::format("--{}", option->name));
    for (std::string_view alias : option->aliases) known.push_back(fmt::format("--{}", alias));
  }
  const std::string nearest = Nearest(name, known);
  return UsageError(name, fmt::format("an option of verbatim {}", verb.name),
                    "one that it does not have", nearest.empty() ? HelpOf(verb) : nearest);
}

// The option that `name` ("-n", "--max-tokens") spells; nullptr if there is none.
const OptionSpec* FindSpelling(std::string_view name,
                               const std::vector<const OptionSpec*>& options) {
  for (const OptionSpec* option : options) {
    if (option->positional) continue;
    if (!name.starts_with("--")) {
      if (name.size() == 2 && option->letter == name[1]) return option;
    } else if (const std::string_view word = name.substr(2);
               option->name == word || std::ranges::count(option->aliases, word) != 0) {
      return option;
    }
  }
  return nullptr;
}

// CLI11 would take -hf for -h -f, and -md X for -m d. Every token in an option's place must be one
// whole spelling.
Status RefuseUnknownOptions(const std::vector<const OptionSpec*>& options,
                            const std::vector<std::string>& arguments, const VerbSpec& verb) {
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("-") || argument == "-") continue;
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const OptionSpec* option = FindSpelling(name, options);
    if (option == nullptr) return UnknownOption(name, verb, options);
    if (equals != argument.npos && !name.starts_with("--")) {
      return UsageError(name, "its value as the next argument", argument,
                        fmt::format("{} {}", name, argument.substr(equals + 1)));
    }
    // CLI11 would take --json=true.
    if (option->kind == ValueKind::kFlag && equals != argument.npos &&
        equals + 1 != argument.size()) {
      return UsageError(OptionLabel(*option), "no value", "one", HelpOf(verb));
    }
    if (option->kind != ValueKind::kFlag && equals == argument.npos) ++i;  // its value
  }
  return Status();
}

Status MissingValue(const CLI::ParseError& error, const VerbSpec& verb,
                    const std::vector<const OptionSpec*>& options) {
  // CLI11 names the option first: "--threads: 1 required TEXT missing", and without dashes in "json
  // was given a disallowed flag override".
  const std::string what = error.what();
  for (const OptionSpec* option : options) {
    if (option->kind == ValueKind::kFlag) {
      const auto overridden = [&](std::string_view name) {
        return what.starts_with(fmt::format("{} was given", name));
      };
      if (!overridden(option->name) && std::ranges::none_of(option->aliases, overridden)) continue;
      return UsageError(OptionLabel(*option), "no value", "one", HelpOf(verb));
    }
    if (!what.starts_with(OptionLabel(*option) + ":")) continue;
    return UsageError(OptionLabel(*option), fmt::format("a value {}", option->value_name),
                      "nothing", HelpOf(verb));
  }
  return UsageError("arguments", fmt::format("options of verbatim {}", verb.name), what,
                    HelpOf(verb));
}

Status RequirePositionals(const CommandLine& line, const std::vector<const OptionSpec*>& options) {
  for (const OptionSpec* option : options) {
    if (!option->positional || line.verb().verb == Verb::kHelp) continue;
    if (line.Given(option->name)) continue;
    if (!option->instead.empty() && line.Given(option->instead)) continue;
    return UsageError(option->name,
                      fmt::format("verbatim {} {}", line.verb().name, line.verb().usage),
                      fmt::format("no {}", option->name), HelpOf(line.verb()));
  }
  return Status();
}

// How many arguments the verb is: `bench serve` is the one of two words, and bench-serve the same.
size_t VerbWords(const std::vector<std::string>& arguments) {
  const bool two = arguments.size() > 1 && arguments[0] == "bench" && arguments[1] == "serve";
  return two ? 2 : 1;
}

Expected<const VerbSpec*> VerbOf(const std::vector<std::string>& arguments) {
  std::string known;
  std::vector<std::string> names;
  for (const VerbSpec& verb : AllVerbs()) {
    known += (known.empty() ? "" : &verb == &AllVerbs().back() ? " or " : ", ");
    known += verb.name;
    names.emplace_back(verb.name);
  }
  if (arguments.empty()) return UsageError("verb", known, "nothing", "verbatim help");
  const std::string& first = arguments.front();
  if (first == "--version" || first == "-V") return &SpecOf(Verb::kVersion);
  if (first == "--help" || first == "-h") return &SpecOf(Verb::kHelp);
  if (VerbWords(arguments) == 2) return &SpecOf(Verb::kBenchServe);
  if (const VerbSpec* verb = FindVerb(first)) return verb;
  const std::string nearest = Nearest(first, names);
  return UsageError("verb", known, first,
                    nearest.empty() ? "verbatim help" : "verbatim " + nearest);
}

}  // namespace

const std::vector<OptionValue>& CommandLine::Values(std::string_view name) const {
  const auto slot = slots_.find(name);
  VERBATIM_CHECK(slot != slots_.end());
  return slot->second.given;
}

const OptionValue& CommandLine::Value(std::string_view name) const {
  const std::vector<OptionValue>& given = Values(name);
  return given.empty() ? slots_.find(name)->second.fallback : given.back();
}

std::vector<std::string> CommandLine::Texts(std::string_view name) const {
  std::vector<std::string> texts;
  for (const OptionValue& value : Values(name)) texts.push_back(value.text);
  return texts;
}

Status CommandLine::Declare(const OptionSpec& option) {
  Slot& slot = slots_[std::string(option.name)];
  if (option.default_value.empty()) return Status();
  VERBATIM_ASSIGN_OR_RETURN(slot.fallback, ParseOptionValue(option, option.default_value, *verb_));
  return Status();
}

Status CommandLine::Add(const OptionSpec& option, std::string_view text) {
  Slot& slot = slots_[std::string(option.name)];
  if (option.kind == ValueKind::kFlag) {
    slot.given.push_back({.text = "true", .number = 1});
    return Status();
  }
  VERBATIM_ASSIGN_OR_RETURN(OptionValue value, ParseOptionValue(option, text, *verb_));
  slot.given.push_back(std::move(value));
  if (slot.given.size() == 1 || option.repeated) return Status();
  return UsageError(OptionLabel(option), "one value", fmt::format("{} of them", slot.given.size()),
                    HelpOf(*verb_));
}

Expected<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments) {
  VERBATIM_ASSIGN_OR_RETURN(const VerbSpec* verb, VerbOf(arguments));
  const std::vector<std::string> rest(
      arguments.begin() + static_cast<std::ptrdiff_t>(VerbWords(arguments)), arguments.end());
  const std::vector<const OptionSpec*> options = OptionsOf(verb->verb);
  VERBATIM_RETURN_IF_ERROR(RefuseUnknownOptions(options, rest, *verb));
  VERBATIM_RETURN_IF_ERROR(RefuseEmptyAssignment(options, rest, *verb));

  CLI::App app;
  app.set_help_flag();  // help is an option of the table
  app.allow_extras();   // so that unknown arguments get our sentence
  std::vector<CLI::Option*> parsed;
  for (const OptionSpec* option : options) {
    if (option->kind == ValueKind::kFlag) {
      parsed.push_back(app.add_flag(NamesOf(*option))->disable_flag_override());
    } else {
      parsed.push_back(app.add_option(NamesOf(*option), [](const CLI::results_t&) { return true; })
                           ->expected(1)
                           ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
    }
  }
  try {
    app.parse(std::vector<std::string>(rest.rbegin(), rest.rend()));  // CLI11 reads from the back
  } catch (const CLI::ParseError& error) {
    return MissingValue(error, *verb, options);
  }
  CommandLine line(verb->verb);
  for (const OptionSpec* option : options) VERBATIM_RETURN_IF_ERROR(line.Declare(*option));
  for (size_t i = 0; i < options.size(); ++i) {
    for (const std::string& text : parsed[i]->results()) {
      VERBATIM_RETURN_IF_ERROR(line.Add(*options[i], text));
    }
  }
  if (const auto stray = app.remaining(); !stray.empty()) {
    const bool model_given = FindSpelling("--model", options) != nullptr && line.Given("model");
    return StrayArgument(stray.front(), *verb, options, model_given);
  }
  if (!line.Given("help")) VERBATIM_RETURN_IF_ERROR(RequirePositionals(line, options));
  return line;
}

}  // namespace verbatim::cli
