// The option of bench that compares contract modes. Not the shared ones (options.cc).
#ifndef VERBATIM_APPS_MODE_OPTIONS_H_
#define VERBATIM_APPS_MODE_OPTIONS_H_

#include <vector>

#include "apps/verbatim/options.h"

namespace verbatim::cli {

std::vector<OptionSpec> ModeOptionSpecs();

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_MODE_OPTIONS_H_
