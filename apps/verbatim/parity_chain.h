// `verbatim parity chain`. Not the rest of the verb (parity.cc).
#ifndef VERBATIM_APPS_PARITY_CHAIN_H_
#define VERBATIM_APPS_PARITY_CHAIN_H_

#include "apps/verbatim/command_line.h"
#include "apps/verbatim/terminal.h"

namespace verbatim::cli {

Expected<int> RunParityChain(const CommandLine& line, Terminal& terminal);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_PARITY_CHAIN_H_
