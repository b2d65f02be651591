// The options of generate that constrain the text. Not how that is held (src/text/grammar.h).
#ifndef VERBATIM_APPS_CONSTRAINT_OPTIONS_H_
#define VERBATIM_APPS_CONSTRAINT_OPTIONS_H_

#include <vector>

#include "apps/verbatim/command_line.h"
#include "apps/verbatim/options.h"
#include "verbatim/constraint.h"
#include "verbatim/status.h"

namespace verbatim::cli {

std::vector<OptionSpec> ConstraintOptionSpecs();

// kInvalidArgument: more than one of them, or one beside --receipt, which does not hold
// constraints; errors of reading.
Expected<ConstraintOptions> ReadConstraint(const CommandLine& line);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CONSTRAINT_OPTIONS_H_
