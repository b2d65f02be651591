// GenerationDefaults: how the makers of a checkpoint want its tokens chosen, from
// generation_config.json. Not its eos_token_id (qwen35_config.h).
#ifndef VERBATIM_CHECKPOINT_GENERATION_CONFIG_H_
#define VERBATIM_CHECKPOINT_GENERATION_CONFIG_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "verbatim/sampling.h"
#include "verbatim/status.h"

namespace verbatim {

struct GenerationDefaults {
  SamplingOptions sampling = {};
  std::vector<std::string> fields = {};  // the file's keys that `sampling` comes from
};

// As transformers reads the file: without "do_sample": true the choice is greedy, whatever
// temperature the file has. A key that is absent or null leaves the engine's default, which does
// nothing (transformers would keep the 50 largest). Errors: kCorrupt for a value of another type or
// out of its range, by name.
Expected<GenerationDefaults> ParseGenerationDefaults(const nlohmann::json& config,
                                                     const std::string& where);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_GENERATION_CONFIG_H_
