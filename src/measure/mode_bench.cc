// Two engines over one checkpoint, and the same requests to both.
#include "measure/mode_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "checkpoint/loader.h"
#include "measure/bench_prompts.h"
#include "measure/recording_engine.h"

namespace verbatim {
namespace {

constexpr std::array kModes = {ContractMode::kExact, ContractMode::kGreedy};
constexpr int kMaxRows = kMaxDraftTokens + 1;

Agreement Compare(const Result& a, const Result& b) {
  const auto [end, other] = std::ranges::mismatch(a.token_ids, b.token_ids);
  return {.tokens = static_cast<int64_t>(a.token_ids.size()),
          .equal_tokens = end - a.token_ids.begin(),
          .equal_logits = a.logits_sha256 == b.logits_sha256};
}

std::vector<double> Ratios(std::span<const double> above, std::span<const double> below) {
  std::vector<double> ratios;
  ratios.reserve(above.size());
  for (size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  return ratios;
}

class ModeBench {
 public:
  explicit ModeBench(const BenchOptions& options) : options_(options) {}
  Expected<ModeReport> Run();

 private:
  // One contract mode's engine and what its arms must repeat.
  struct Mode {
    std::unique_ptr<RecordingEngine> engine;
    Result classic, mtp;
    std::vector<double> prefill_ms, classic_ms, mtp_ms;  // [rounds], decodes per token
  };

  Status Load();
  Status RunOnce();
  Status Measure();
  void Report();

  Request MakeRequest(const std::vector<int32_t>& prompt, int tokens, bool mtp) const;
  std::string Name(size_t mode, std::string_view what) const {
    return fmt::format("{} {}", ContractModeName(kModes[mode]), what);
  }

  BenchOptions options_;
  ModeReport report_;
  bool has_mtp_ = false;
  BenchPrompts prompts_;
  std::array<Mode, kModes.size()> modes_;
};

Expected<ModeReport> ModeBench::Run() {
  report_.prompt_tokens = options_.prompt_tokens;
  report_.decode_tokens = options_.decode_tokens;
  report_.draft_tokens = options_.draft_tokens;
  report_.rounds = options_.rounds;
  VERBATIM_RETURN_IF_ERROR(Load());
  VERBATIM_RETURN_IF_ERROR(RunOnce());
  if (report_.difference) return std::move(report_);
  VERBATIM_RETURN_IF_ERROR(Measure());
  Report();
  return std::move(report_);
}

Status ModeBench::Load() {
  EngineOptions engine = options_.engine;
  {
    VERBATIM_ASSIGN_OR_RETURN(
        const Checkpoint checkpoint,
        LoadCheckpoint({.model = engine.model, .draft_model = engine.draft_model}));
    has_mtp_ = checkpoint.has_mtp;
  }
  engine.with_mtp = has_mtp_;
  engine.context =
      std::max(options_.prompt_tokens, kMaxDecodePromptTokens + options_.decode_tokens) + kMaxRows;
  engine.progress = options_.progress;
  for (size_t i = 0; i < kModes.size(); ++i) {
    engine.contract = kModes[i];
    VERBATIM_ASSIGN_OR_RETURN(modes_[i].engine, RecordingEngine::Load(engine, options_.stop));
    const EngineInfo& info = modes_[i].engine->engine().info();
    report_.modes[i].info = info;
    if (info.contract_held == kModes[i]) continue;
    return MakeError(
        StatusCode::kUnsupported, "--against",
        fmt::format("a backend that is {}", ContractModeName(kModes[i])),
        fmt::format("{}: {}", ContractModeName(info.contract_held), info.contract_reason));
  }
  if (options_.on_loaded) options_.on_loaded();
  VERBATIM_ASSIGN_OR_RETURN(prompts_, MakeBenchPrompts(options_, modes_[0].engine->engine()));
  report_.decode_prompt_tokens = static_cast<int>(prompts_.decode.size());
  return {};
}

Request ModeBench::MakeRequest(const std::vector<int32_t>& prompt, int tokens, bool mtp) const {
  Request request;
  request.prompt_token_ids = prompt;
  request.max_tokens = tokens;
  request.ignore_eos = true;
  request.want_text = false;
  if (mtp) {
    request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = options_.draft_tokens};
  }
  return request;
}

// Every arm once, with digests, before anything is timed. A vendor's library also makes its kernels
// when a shape first occurs.
Status ModeBench::RunOnce() {
  for (size_t i = 0; i < modes_.size(); ++i) {
    Mode& mode = modes_[i];
    const auto run = [&](const std::vector<int32_t>& prompt, int tokens,
                         bool mtp) -> Expected<Result> {
      Request request = MakeRequest(prompt, tokens, mtp);
      request.logits_digest = true;
      VERBATIM_ASSIGN_OR_RETURN(RecordedRun recorded,
                                mode.engine->Generate(std::move(request), Recording::kNone));
      return std::move(recorded.result);
    };
    VERBATIM_RETURN_IF_ERROR(run(prompts_.prefill, 1, false).status());
    VERBATIM_ASSIGN_OR_RETURN(mode.classic, run(prompts_.decode, options_.decode_tokens, false));
    if (!has_mtp_) continue;
    VERBATIM_ASSIGN_OR_RETURN(mode.mtp, run(prompts_.decode, options_.decode_tokens, true));
    report_.modes[i].mtp_agreement = Compare(mode.classic, mode.mtp);
    report_.modes[i].mtp_stats = mode.mtp.speculation;
  }
  report_.classic_agreement = Compare(modes_[0].classic, modes_[1].classic);
  if (!has_mtp_) return {};
  const std::array<ArmOutput, 2> exact = {
      {{"classic decode", modes_[0].classic.token_ids, modes_[0].classic.logits_sha256},
       {"MTP decode", modes_[0].mtp.token_ids, modes_[0].mtp.logits_sha256}}};
  report_.difference = FindDifference(exact);
  return {};
}

Status ModeBench::Measure() {
  std::vector<Arm> arms;
  std::vector<std::vector<double>*> values;
  const auto add = [&](size_t i, std::string_view what, std::vector<double>* to,
                       std::function<Expected<double>(Mode&)> run) {
    values.push_back(to);
    arms.push_back({Name(i, what), [this, i, run = std::move(run)] { return run(modes_[i]); }});
  };
  const auto decode = [this](Mode& mode, bool mtp) -> Expected<double> {
    VERBATIM_ASSIGN_OR_RETURN(
        const RecordedRun run,
        mode.engine->Generate(MakeRequest(prompts_.decode, options_.decode_tokens, mtp),
                              Recording::kNone));
    if (run.result.token_ids != (mtp ? mode.mtp : mode.classic).token_ids) {
      return MakeError(StatusCode::kInternal, "bench", "the token ids of the arm's first run",
                       "others while timing");
    }
    return run.result.timings.predicted_ms / (options_.decode_tokens - 1);
  };
  // The modes side by side, arm by arm.
  for (size_t i = 0; i < modes_.size(); ++i) {
    add(i, "prefill", &modes_[i].prefill_ms, [this](Mode& mode) -> Expected<double> {
      VERBATIM_ASSIGN_OR_RETURN(
          const RecordedRun run,
          mode.engine->Generate(MakeRequest(prompts_.prefill, 1, false), Recording::kNone));
      return run.result.timings.prompt_ms;
    });
  }
  for (const bool mtp : {false, true}) {
    if (mtp && !has_mtp_) continue;
    for (size_t i = 0; i < modes_.size(); ++i) {
      add(i, mtp ? "MTP decode" : "classic decode", mtp ? &modes_[i].mtp_ms : &modes_[i].classic_ms,
          [decode, mtp](Mode& mode) { return decode(mode, mtp); });
    }
  }
  VERBATIM_ASSIGN_OR_RETURN(auto samples, RunInterleaved(arms, options_.rounds, options_.progress));
  for (size_t i = 0; i < samples.size(); ++i) *values[i] = std::move(samples[i]);
  return {};
}

void ModeBench::Report() {
  const auto rates = [](std::span<const double> ms) {
    std::vector<double> per_s;
    for (const double value : ms) per_s.push_back(1000 / value);
    return Summarize(std::move(per_s));
  };
  for (size_t i = 0; i < modes_.size(); ++i) {
    const Mode& mode = modes_[i];
    ModeSpeed& speed = report_.modes[i];
    speed.prefill_ms = Summarize(mode.prefill_ms);
    speed.classic_tokens_per_s = rates(mode.classic_ms);
    if (!has_mtp_) continue;
    speed.mtp_tokens_per_s = rates(mode.mtp_ms);
    speed.mtp_speedup = Summarize(Ratios(mode.classic_ms, mode.mtp_ms));
  }
  const auto& [exact, greedy] = modes_;
  report_.prefill_cost = Summarize(Ratios(exact.prefill_ms, greedy.prefill_ms));
  report_.classic_cost = Summarize(Ratios(exact.classic_ms, greedy.classic_ms));
  if (has_mtp_) report_.mtp_cost = Summarize(Ratios(exact.mtp_ms, greedy.mtp_ms));
}

}  // namespace

Expected<ModeReport> RunModeBench(const BenchOptions& options) {
  VERBATIM_RETURN_IF_ERROR(CheckBenchOptions(options));
  return ModeBench(options).Run();
}

}  // namespace verbatim
