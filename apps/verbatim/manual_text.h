// The prose of docs/cli.md between the generated tables. Not options: those are in the table.
#ifndef VERBATIM_APPS_MANUAL_TEXT_H_
#define VERBATIM_APPS_MANUAL_TEXT_H_

#include <string_view>

#include "apps/verbatim/options.h"

namespace verbatim::cli {

extern const std::string_view kManualIntroduction;
std::string_view ManualNotes(Verb verb);  // what follows a verb's examples; may be empty

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_MANUAL_TEXT_H_
