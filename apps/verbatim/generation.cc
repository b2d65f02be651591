// One request, step by step, so that a signal takes effect between steps.
#include "apps/verbatim/generation.h"

#include <fmt/format.h>

#include "apps/verbatim/json_output.h"

namespace verbatim::cli {

Expected<Result> RunRequest(Engine& engine, Request request, const DeferredSignals& signals,
                            const TextSink& sink) {
  Status sink_status;
  size_t streamed = 0;
  if (sink) {
    request.on_token = [&](const TokenEvent& event) {
      if (event.text.empty() || !sink_status.ok()) return;
      streamed += event.text.size();
      sink_status = sink(event.text, event.drafted);
    };
  }
  VERBATIM_ASSIGN_OR_RETURN(const RequestId id, engine.Submit(std::move(request)));
  for (bool cancelled = false; engine.Step();) {
    if (cancelled || (signals.exit_code() == 0 && sink_status.ok())) continue;
    cancelled = true;
    // kNotFound: the step just ended it by itself, which is as good.
    if (Status status = engine.Cancel(id); !status.ok() && status.code() != StatusCode::kNotFound) {
      return status;
    }
  }
  VERBATIM_ASSIGN_OR_RETURN(Result result, engine.TakeResult(id));
  // What the end set free: text held back as a possible stop string.
  if (sink && sink_status.ok() && streamed < result.text.size()) {
    sink_status = sink(std::string_view(result.text).substr(streamed), false);
  }
  VERBATIM_RETURN_IF_ERROR(sink_status);
  return result;
}

std::string SpeedSummary(size_t prompt_tokens, const Result& result) {
  const Timings& timings = result.timings;
  return fmt::format(
      "{} tokens in {:.2f} s, {:.1f} tokens/s; prompt {} tokens, {:.1f} tokens/s; ended by {}",
      result.token_ids.size(), (timings.prompt_ms + timings.predicted_ms) / 1000,
      PerSecond(TimedTokens(result), timings.predicted_ms), prompt_tokens,
      PerSecond(static_cast<int64_t>(prompt_tokens), timings.prompt_ms),
      FinishReasonName(result.finish_reason));
}

std::string DraftSummary(const Result& result) {
  const SpeculationStats& stats = result.speculation;
  if (stats.drafted == 0) return "";
  std::string rates;
  std::string counts;
  for (int i = 0; i < DraftPositions(stats); ++i) {
    const double tested = static_cast<double>(stats.tested_at[i]);
    rates += tested > 0 ? fmt::format(" {:.2f}", static_cast<double>(stats.accepted_at[i]) / tested)
                        : " -";
    counts += fmt::format("{}{}/{}", i == 0 ? "" : " ", stats.accepted_at[i], stats.tested_at[i]);
  }
  return fmt::format("drafts accepted of tested:{} ({}); {} steps, {:.2f} tokens per step", rates,
                     counts, stats.rounds,
                     static_cast<double>(TimedTokens(result)) / static_cast<double>(stats.rounds));
}

}  // namespace verbatim::cli
