// FindForeignOption: options of llama.cpp that Verbatim does not have, and what to do instead. Not
// the spellings that work here as aliases (options.cc).
#ifndef VERBATIM_APPS_FOREIGN_OPTIONS_H_
#define VERBATIM_APPS_FOREIGN_OPTIONS_H_

#include <span>
#include <string_view>
#include <vector>

namespace verbatim::cli {

struct ForeignOption {
  std::vector<std::string_view> spellings;  // with their dashes
  std::string_view expected;                // what Verbatim has instead; follows "expected"
  std::string_view advice;                  // follows "try"
};

std::span<const ForeignOption> AllForeignOptions();

// nullptr if `name` (with dashes, without a value) is not among them.
const ForeignOption* FindForeignOption(std::string_view name);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_FOREIGN_OPTIONS_H_
