// The options of `flips`: their table, and the list of widths. Not what is done with them.
#ifndef VERBATIM_APPS_FLIP_OPTIONS_H_
#define VERBATIM_APPS_FLIP_OPTIONS_H_

#include <string_view>
#include <vector>

#include "apps/verbatim/options.h"
#include "verbatim/status.h"

namespace verbatim::cli {

std::vector<OptionSpec> FlipOptionSpecs();

// "2,4,8,16": numbers of 2 to 16, rising. kInvalidArgument.
Expected<std::vector<int>> ParseWidths(std::string_view text);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_FLIP_OPTIONS_H_
