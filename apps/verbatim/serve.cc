// The verb serve: load, listen, and end in order. Not the server (src/serve).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "apps/verbatim/mebibytes.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/sampling_options.h"
#include "apps/verbatim/serve_options.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "checkpoint/model_identity.h"

namespace verbatim::cli {
namespace {

void NoteServing(const serve::Server& server, const ServeSettings& settings, const EngineInfo& info,
                 Terminal& terminal) {
  const SpeculationOptions& speculation = settings.server.speculation;
  terminal.Note(fmt::format(
      "memory   {} of KV pages and states, prefix cache {}", Mebibytes(info.cache_bytes),
      info.prefix_cache_bytes == 0 ? std::string("off") : Mebibytes(info.prefix_cache_bytes)));
  terminal.Note("sampling " + SamplingSummary(info.default_sampling, info));
  terminal.Note(fmt::format(
      "serving  {} as {}, {} at once, speculation {}{}", server.address(),
      settings.server.model_name, settings.engine.max_sequences,
      SpeculationKindName(speculation.kind),
      speculation.kind == SpeculationKind::kOff
          ? ""
          : (speculation.automatic ? ", width by measured cost"
                                   : fmt::format(", {} drafts", speculation.draft_tokens))));
}

}  // namespace

Expected<int> RunServe(const CommandLine& given, Terminal& terminal) {
  VERBATIM_ASSIGN_OR_RETURN(const CommandLine line, WithConfigFile(given));
  VERBATIM_ASSIGN_OR_RETURN(ServeSettings settings, ReadServeSettings(line));
  VERBATIM_ASSIGN_OR_RETURN(const auto engine, LoadEngine(settings.engine, terminal));
  const EngineInfo& info = engine->info();
  if (!info.has_mtp && settings.server.speculation.kind == SpeculationKind::kMtp) {
    settings.server.speculation.kind = SpeculationKind::kOff;
  }
  VERBATIM_ASSIGN_OR_RETURN(
      ModelIdentity identity,
      ReadModelIdentity(line.Text("model"), info.num_threads, [&terminal](double fraction) {
        terminal.Progress(fraction, "digest of the model");
      }));
  terminal.EndProgress();

  DeferredSignals signals;
  VERBATIM_ASSIGN_OR_RETURN(const auto server,
                            serve::Server::Start(*engine, std::move(identity), settings.server));
  NoteServing(*server, settings, info, terminal);
  constexpr std::chrono::milliseconds kPoll{50};
  while (signals.exit_code() == 0) std::this_thread::sleep_for(kPoll);
  terminal.Note(fmt::format("draining: answers have {} s to end; a second signal ends at once",
                            settings.drain_seconds));
  const bool clean = server->Drain(std::chrono::seconds(settings.drain_seconds));
  terminal.Note(clean ? "drained" : "not all answers had ended: the rest got an error");
  // Ending is what SIGTERM asks a server for; SIGINT ends what a person runs.
  const int code = signals.exit_code() == 128 + SIGTERM ? kExitOk : signals.exit_code();
  if (server->busy()) std::_Exit(code);  // as every client has its answer, nobody waits for it
  return code;
}

}  // namespace verbatim::cli
