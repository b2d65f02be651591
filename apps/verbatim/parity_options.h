// The options of `verbatim parity`. Not the shared ones (options.cc).
#ifndef VERBATIM_APPS_PARITY_OPTIONS_H_
#define VERBATIM_APPS_PARITY_OPTIONS_H_

#include <string_view>
#include <vector>

#include "apps/verbatim/options.h"
#include "verbatim/status.h"

namespace verbatim::cli {

std::vector<OptionSpec> ParityOptionSpecs();

// "1-32", "8" or "1,2,4-6" as ascending numbers from 1 to `most`, each once. Errors:
// kInvalidArgument.
Expected<std::vector<int>> ParseWidths(std::string_view text, int most);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_PARITY_OPTIONS_H_
