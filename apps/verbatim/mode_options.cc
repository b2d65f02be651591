// Its table.
#include "apps/verbatim/mode_options.h"

namespace verbatim::cli {

std::vector<OptionSpec> ModeOptionSpecs() {
  return {{.name = "against",
           .kind = ValueKind::kWord,
           .value_name = "greedy",
           .words = {{"greedy", "greedy"}},
           .section = "Benchmark",
           .verbs = {Verb::kBench},
           .help = "Load the model in this contract mode as well and time both in turn: what "
                   "exactness costs, instead of the machine's limits"}};
}

}  // namespace verbatim::cli
