// RunRequest: one request through the engine, text streamed, signals heeded; and its summary for
// people. Not the choice of options.
#ifndef VERBATIM_APPS_GENERATION_H_
#define VERBATIM_APPS_GENERATION_H_

#include <functional>
#include <string>
#include <string_view>

#include "apps/verbatim/signals.h"
#include "verbatim/engine.h"

namespace verbatim::cli {

// Receives text in order; their concatenation is Result::text.
using TextSink = std::function<Status(std::string_view text, bool drafted)>;

// Runs `request` to its end. A noted signal or a failing sink cancels it; the sink's error is then
// returned. `sink` may be empty. Errors: those of Submit and of the sink.
Expected<Result> RunRequest(Engine& engine, Request request, const DeferredSignals& signals,
                            const TextSink& sink);

// "64 tokens in 0.21 s, 300.5 tokens/s; prompt 12 tokens, 1800.2 tokens/s; ended by length".
std::string SpeedSummary(size_t prompt_tokens, const Result& result);
// "drafts accepted of tested: 0.87 0.74 0.70 (54/62 40/54 28/40); 62 steps, 2.97 tokens per step";
// empty if nothing was drafted.
std::string DraftSummary(const Result& result);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_GENERATION_H_
