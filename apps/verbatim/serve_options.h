// The options of serve, on the command line and in its file. Not the shared ones (options.cc).
#ifndef VERBATIM_APPS_SERVE_OPTIONS_H_
#define VERBATIM_APPS_SERVE_OPTIONS_H_

#include <vector>

#include "apps/verbatim/command_line.h"
#include "apps/verbatim/options.h"
#include "serve/server.h"
#include "verbatim/engine.h"
#include "verbatim/status.h"

namespace verbatim::cli {

std::vector<OptionSpec> ServeOptionSpecs();

// The line with the settings of --config's TOML file added: its keys are the names of serve's
// options, and what the command line gives goes before it. Errors: those of reading;
// kInvalidArgument for text that is no TOML, with line and column, a key that is no option, a value
// that the option does not take.
Expected<CommandLine> WithConfigFile(CommandLine line);

struct ServeSettings {
  EngineOptions engine;
  serve::ServerOptions server;
  int64_t drain_seconds = 0;
};

// kInvalidArgument: options that contradict each other; errors of reading the key file.
Expected<ServeSettings> ReadServeSettings(const CommandLine& line);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_SERVE_OPTIONS_H_
