// The options of how tokens are chosen: their table, and what a command line makes of the model's
// defaults. Not the choice.
#ifndef VERBATIM_APPS_SAMPLING_OPTIONS_H_
#define VERBATIM_APPS_SAMPLING_OPTIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "apps/verbatim/command_line.h"
#include "verbatim/engine.h"

namespace verbatim::cli {

// For every verb that generates freely; the log-probabilities are generate's.
std::vector<OptionSpec> SamplingOptionSpecs();

// What the command line says, before there is a model: changes to make to its defaults.
class SamplingArguments {
 public:
  // Errors: kInvalidArgument for texts that are no biases, ids or numbers in range.
  static Expected<SamplingArguments> Read(const CommandLine& line);

  // Precedence: option, generation_config.json (unless --generation-config off), engine default.
  SamplingOptions Resolve(const EngineInfo& info) const;

 private:
  bool use_model_defaults_ = true;
  std::vector<std::function<void(SamplingOptions&)>> changes_;
};

// "greedy", or "temperature 0.6, top-k 20, seed 0"; the model's own advice is marked.
std::string SamplingSummary(const SamplingOptions& sampling, const EngineInfo& info);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_SAMPLING_OPTIONS_H_
