// ParseCommandLine: argv to a verb and its checked options. Not what a verb does with them.
#ifndef VERBATIM_APPS_COMMAND_LINE_H_
#define VERBATIM_APPS_COMMAND_LINE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/verbatim/option_value.h"
#include "apps/verbatim/options.h"
#include "verbatim/status.h"

namespace verbatim::cli {

class CommandLine {
 public:
  explicit CommandLine(Verb verb) : verb_(&SpecOf(verb)) {}

  const VerbSpec& verb() const { return *verb_; }

  // Whether the option was on the command line. A name that the verb does not have aborts.
  bool Given(std::string_view name) const { return !Values(name).empty(); }
  int Count(std::string_view name) const { return static_cast<int>(Values(name).size()); }
  // The given value, else the default, else an empty one.
  const OptionValue& Value(std::string_view name) const;
  const std::string& Text(std::string_view name) const { return Value(name).text; }
  int64_t Number(std::string_view name) const { return Value(name).number; }
  std::vector<std::string> Texts(std::string_view name) const;

  // Declares an option with its default; then adds a given value.
  Status Declare(const OptionSpec& option);
  Status Add(const OptionSpec& option, std::string_view text);

 private:
  struct Slot {
    OptionValue fallback;
    std::vector<OptionValue> given;
  };
  const std::vector<OptionValue>& Values(std::string_view name) const;

  const VerbSpec* verb_;
  std::map<std::string, Slot, std::less<>> slots_;
};

// `arguments` without the program's name. --version and --help stand for the verbs when they come
// first. A line with --help is parsed, but not checked for completeness. Errors: kInvalidArgument,
// one sentence each.
Expected<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_COMMAND_LINE_H_
