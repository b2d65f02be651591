// What generate, score and demo share: the engine that the options ask for, and the prompt. Not
// what is done with them.
#ifndef VERBATIM_APPS_MODEL_OPTIONS_H_
#define VERBATIM_APPS_MODEL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "apps/verbatim/command_line.h"
#include "apps/verbatim/terminal.h"
#include "verbatim/engine.h"
#include "verbatim/status.h"

namespace verbatim::cli {

KvCacheType KvTypeOf(const CommandLine& line);

// The engine options that the command line states; kInvalidArgument without --model.
Expected<EngineOptions> ReadEngineOptions(const CommandLine& line);

// Loads with a progress bar and says what was loaded.
Expected<std::unique_ptr<Engine>> LoadEngine(EngineOptions options, Terminal& terminal);

// What was given to generate from or to score, read but not yet tokenized.
struct PromptInput {
  std::string text;
  std::vector<int32_t> ids;  // when --ids was given
  bool is_ids = false;
};

// Exactly one of --prompt, --file and --ids. Errors: kInvalidArgument, those of reading.
Expected<PromptInput> ReadPrompt(const CommandLine& line);

// The ids of a prompt, through the chat template if asked.
Expected<std::vector<int32_t>> PromptTokenIds(const PromptInput& prompt, bool chat,
                                              const Engine& engine);

// The drafter that the options ask for; reads a replay file. Errors: kInvalidArgument for options
// that contradict each other, those of reading.
Expected<SpeculationOptions> ReadSpeculation(const CommandLine& line);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_MODEL_OPTIONS_H_
