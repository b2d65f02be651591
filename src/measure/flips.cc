// Loads, makes the texts, measures both ways; the progress is in rows.
#include "measure/flips.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "measure/flip_texts.h"
#include "measure/free_running.h"
#include "measure/teacher_forced.h"

namespace verbatim {
namespace {

Status CheckOptions(const FlipOptions& options) {
  const auto refuse = [](std::string_view where, std::string_view expected, int64_t received) {
    return MakeError(StatusCode::kInvalidArgument, where, expected, fmt::format("{}", received));
  };
  if (options.prompts.empty()) return refuse("prompts", "at least one", 0);
  if (options.widths.empty()) return refuse("widths", "at least one", 0);
  for (const int width : options.widths) {
    if (width < 2 || width > kMaxDraftTokens + 1) {
      return refuse("widths", fmt::format("2 to {}", kMaxDraftTokens + 1), width);
    }
  }
  if (options.positions < 0) return refuse("positions", "0 or more", options.positions);
  if (options.positions == 1) return refuse("positions", "0, or 2 and more", 1);
  if (options.tokens < 0) return refuse("tokens", "0 or more", options.tokens);
  if (options.positions == 0 && options.tokens == 0) {
    return refuse("positions", "positions or tokens to measure", 0);
  }
  return {};
}

EngineOptions EngineOptionsFor(const FlipOptions& options) {
  EngineOptions engine = options.engine;
  engine.mtp_if_present = !options.spec;
  engine.with_mtp = options.spec == SpeculationKind::kMtp;
  engine.context = std::max(kFlipTextTokens, kFreeRunningPromptTokens + options.tokens);
  engine.max_sequences = kSampledAtOnce;
  engine.max_score_width = kMaxDraftTokens + 1;
  return engine;
}

// What a stage's share of the whole work is, in rows of the chain: nobody knows better beforehand.
class Work {
 public:
  Work(const FlipOptions& options, int64_t total) : options_(&options), total_(total) {}

  Status Advance(int64_t rows, std::string_view what) {
    done_ += rows;
    return Show(done_, what);
  }
  Status Show(int64_t done, std::string_view what) {
    if (options_->stop && options_->stop()) {
      return MakeError(StatusCode::kCancelled, "flips", "to finish", "a request to stop");
    }
    if (options_->progress) {
      options_->progress(std::min(1.0, static_cast<double>(done) / static_cast<double>(total_)),
                         std::string(what));
    }
    return {};
  }

 private:
  const FlipOptions* options_;
  int64_t total_;
  int64_t done_ = 0;
};

int64_t Counted(std::span<const FlipText> texts) {
  int64_t counted = 0;
  for (const FlipText& text : texts) counted += text.num_counted();
  return counted;
}

void AddTexts(const Engine& engine, std::vector<Flip>& flips) {
  const auto text = [&engine](int32_t id) {
    const Expected<std::string> one =
        engine.Detokenize(std::span<const int32_t>(&id, 1), /*skip_special=*/false);
    return id < 0 ? "(end)" : one.ok() ? *one : fmt::format("<{}>", id);
  };
  for (Flip& flip : flips) {
    flip.chain_text = text(flip.chain_token);
    flip.block_text = text(flip.block_token);
  }
}

}  // namespace

bool FlipReport::AnyDifference() const {
  if (forced) {
    for (const WidthFlips& width : forced->widths) {
      if (width.flips.events > 0 || width.byte_differences > 0) return true;
    }
  }
  if (running) {
    for (const FreeRunningArm& arm : running->arms) {
      if (arm.divergences.events > 0 || arm.byte_differences > 0) return true;
    }
  }
  return false;
}

Expected<FlipReport> RunFlips(const FlipOptions& options) {
  VERBATIM_RETURN_IF_ERROR(CheckOptions(options));
  VERBATIM_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                            InstrumentedEngine::Load(EngineOptionsFor(options), options.wrap));
  FlipReport report = {.info = engine->info(), .seed = options.seed};
  VERBATIM_ASSIGN_OR_RETURN(const auto prompts, TokenizePrompts(*engine, options.prompts));
  const auto arms = static_cast<int64_t>(options.widths.size());
  const int64_t scored = options.positions * (1 + arms);
  const auto free_rows = static_cast<int64_t>(prompts.size()) * options.tokens * (1 + arms);

  if (options.positions > 0) {
    std::vector<FlipText> texts = TextsOfPrompts(prompts, options.positions);
    const int64_t sampled = options.positions - Counted(texts);
    // A sampled row shares its step with seven others.
    const int64_t sampling_rows = sampled / kSampledAtOnce;
    Work work(options, sampling_rows + scored + free_rows);
    VERBATIM_RETURN_IF_ERROR(AddContinuations(
        *engine, prompts, options.positions, options.seed, options.stop,
        [&](double share) {
          (void)work.Show(static_cast<int64_t>(share * static_cast<double>(sampling_rows)),
                          "sampling texts");
        },
        texts));
    VERBATIM_RETURN_IF_ERROR(work.Advance(sampling_rows, "scoring"));
    VERBATIM_ASSIGN_OR_RETURN(
        report.forced,
        MeasureTeacherForced(*engine, texts, options.widths, prompts.size(), options.seed,
                             [&](int64_t rows) { return work.Advance(rows, "scoring"); }));
  }
  if (options.tokens > 0) {
    Work work(options, scored + free_rows);
    VERBATIM_RETURN_IF_ERROR(work.Advance(scored, "generating"));
    VERBATIM_ASSIGN_OR_RETURN(
        report.running,
        MeasureFreeRunning(*engine, prompts, options,
                           report.forced ? report.forced->rounding_limit : std::nullopt,
                           [&](int64_t tokens) { return work.Advance(tokens, "generating"); }));
  }
  if (report.forced) AddTexts(*engine, report.forced->flips);
  if (report.running) {
    for (FreeRunningArm& arm : report.running->arms) AddTexts(*engine, arm.flips);
  }
  return report;
}

}  // namespace verbatim
