// The options of `verbatim bench serve`. Not the shared ones (options.cc).
#ifndef VERBATIM_APPS_BENCH_SERVE_OPTIONS_H_
#define VERBATIM_APPS_BENCH_SERVE_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "apps/verbatim/command_line.h"
#include "apps/verbatim/options.h"
#include "measure/serve_bench.h"
#include "verbatim/status.h"

namespace verbatim::cli {

std::vector<OptionSpec> BenchServeOptionSpecs();

// "speculation=off" and the like to a JSON object: a value is JSON if it reads as such, else a
// string. `where` names the option. kInvalidArgument.
Expected<std::string> ParseFields(const std::vector<std::string>& assignments,
                                  std::string_view where);

// All of what was asked but the callbacks. Reads the files of prompts and key.
Expected<ServeBenchOptions> ReadBenchServe(const CommandLine& line);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_BENCH_SERVE_OPTIONS_H_
