// What must hold for every command line: values within their ranges, or one sentence on one line.
#include "fuzz/options_entries.h"

#include <algorithm>
#include <string>
#include <vector>

#include "apps/verbatim/command_line.h"
#include "apps/verbatim/sampling_options.h"
#include "apps/verbatim/token_list.h"
#include "fuzz/check_fault.h"
#include "fuzz/split_input.h"

namespace verbatim::fuzz {
namespace {

void CheckUsage(const Status& status) {
  CheckFault(status);
  VERBATIM_CHECK(status.code() == StatusCode::kInvalidArgument);  // exit code 2
}

}  // namespace

void FuzzCommandLine(std::span<const std::byte> bytes) {
  std::vector<std::string> arguments;
  for (const std::string_view part : SplitInput(bytes, 64)) {
    // What execve can pass on; 64 of up to 256 bytes reach every rule of the parser.
    const std::string_view whole = part.substr(0, part.find('\0'));
    arguments.emplace_back(whole.substr(0, 256));
  }
  const auto line = cli::ParseCommandLine(arguments);
  if (!line.ok()) return CheckUsage(line.status());
  const cli::Verb verb = line->verb().verb;
  if (verb == cli::Verb::kGenerate || verb == cli::Verb::kChat) {
    const auto sampling = cli::SamplingArguments::Read(*line);
    if (!sampling.ok()) CheckUsage(sampling.status());
  }
  for (const cli::OptionSpec* option : cli::OptionsOf(verb)) {
    if (!line->Given(option->name)) continue;
    if (option->kind == cli::ValueKind::kDecimal) {
      const double value = line->Value(option->name).decimal;
      VERBATIM_CHECK(value >= option->least && value <= option->most);
    }
    if (option->kind != cli::ValueKind::kInteger) continue;
    const int64_t number = line->Number(option->name);
    const bool word = std::ranges::any_of(option->words, [&](const cli::Word& candidate) {
      return candidate.canonical == line->Text(option->name);
    });
    VERBATIM_CHECK(word || (number >= option->min && number <= option->max));
  }
}

void FuzzTokenList(std::span<const std::byte> bytes) {
  const auto ids = cli::ParseTokenIds(SplitInput(bytes, 1)[0], "--ids", bytes.size() % 2 == 0);
  if (!ids.ok()) return CheckUsage(ids.status());
  VERBATIM_CHECK(!ids->empty());
  for (const int32_t id : *ids) VERBATIM_CHECK(id >= 0);
}

}  // namespace verbatim::fuzz
