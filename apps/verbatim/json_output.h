// The JSON objects of generate, score and version (docs/cli.md lists their fields). Not the JSON
// text itself (json_writer.h).
#ifndef VERBATIM_APPS_JSON_OUTPUT_H_
#define VERBATIM_APPS_JSON_OUTPUT_H_

#include <cstdint>
#include <span>
#include <string>

#include "verbatim/engine.h"

namespace verbatim::cli {

// Tokens per second; 0 if no time passed.
double PerSecond(int64_t tokens, double ms);
// The tokens whose time `predicted_ms` is: all but the first, which ends the prompt's time.
int64_t TimedTokens(const Result& result);
// Positions of a block for which something was drafted: the length of the ..._at arrays.
int DraftPositions(const SpeculationStats& stats);

std::string GenerateJson(const EngineInfo& info, const SpeculationOptions& speculation,
                         const SamplingOptions& sampling, std::span<const int32_t> prompt_token_ids,
                         const Result& result);

std::string ScoreJson(const EngineInfo& info, const ScoreRequest& request,
                      const ScoreResult& result);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_JSON_OUTPUT_H_
