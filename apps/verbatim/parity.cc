// The verb parity: blocks against single rows. What is compared is in src/measure.
#include "apps/verbatim/parity_chain.h"
#include "apps/verbatim/parity_ops.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {

Expected<int> RunParity(const CommandLine& line, Terminal& terminal) {
  return line.Text("WHAT") == "chain" ? RunParityChain(line, terminal)
                                      : RunParityOps(line, terminal);
}

}  // namespace verbatim::cli
