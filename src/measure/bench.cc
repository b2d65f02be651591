// Load, check that all arms give one output, time them in turn, and set the limits beside the
// times.
#include "measure/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/available_memory.h"
#include "checkpoint/loader.h"
#include "measure/anatomy.h"
#include "measure/bench_prompts.h"
#include "measure/recording_engine.h"

namespace verbatim {
namespace {

constexpr int kMaxRows = kMaxDraftTokens + 1;
// Blocks that are taken apart: what MTP of two drafts verifies, and one whose arithmetic shows.
constexpr std::array kBlocksByPart = {3, 8};
// Blocks of T rows that one measurement takes, where the tokens suffice: a block is milliseconds.
constexpr int kBlocks = 4;

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {}
  Expected<BenchReport> Run();

 private:
  Status Load();
  Status MakePrompts();
  Status MakeMachine();
  Status CheckOutputs();
  Status Measure();
  void Report(const std::vector<std::vector<double>>& samples);

  Request DecodeRequest(int tokens, const SpeculationOptions& speculation) const;
  SpeculationOptions Replay(int rows) const;
  SpeculationOptions Mtp() const;
  // The output must be the beginning of the reference.
  Expected<RecordedRun> GenerateEqual(const Request& request, Recording recording);

  void AddArm(std::string name, std::function<Expected<double>()> run) {
    arms_.push_back({std::move(name), std::move(run)});
  }
  void AddMachineArms();
  void AddModelArms();
  void ReportMachine(const std::vector<std::vector<double>>& samples, size_t* arm);
  BandwidthResult BestRead(const std::vector<std::vector<double>>& samples, size_t* arm,
                           int64_t bytes) const;
  DecodeSpeed Decode(std::span<const double> ms, std::span<const double> classic_ms,
                     const RecordedRun& recorded) const;
  double LimitSeconds(std::span<const Pass> passes) const;

  BenchOptions options_;
  BenchReport report_;
  bool has_mtp_ = false;
  std::unique_ptr<RecordingEngine> engine_;
  std::unique_ptr<Machine> machine_;
  BenchPrompts prompts_;
  std::vector<int32_t> reference_;  // the classic output
  RecordedRun classic_, mtp_, perfect_;
  Work prefill_work_;
  std::array<Work, kMaxRows> row_work_;
  std::vector<int> bits_;  // of affine weights
  std::vector<MeanStep> step_rounds_, drafter_rounds_;
  std::array<std::vector<MeanStep>, kBlocksByPart.size()> block_rounds_;
  std::vector<Arm> arms_;
};

Expected<BenchReport> Bench::Run() {
  report_.prompt_tokens = options_.prompt_tokens;
  report_.decode_tokens = options_.decode_tokens;
  report_.draft_tokens = options_.draft_tokens;
  report_.rounds = options_.rounds;
  VERBATIM_RETURN_IF_ERROR(Load());
  VERBATIM_RETURN_IF_ERROR(MakePrompts());
  VERBATIM_RETURN_IF_ERROR(CheckOutputs());
  if (!report_.difference) VERBATIM_RETURN_IF_ERROR(MakeMachine());
  if (!report_.difference) VERBATIM_RETURN_IF_ERROR(Measure());
  return std::move(report_);
}

Status Bench::Load() {
  EngineOptions engine = options_.engine;
  {
    VERBATIM_ASSIGN_OR_RETURN(
        const Checkpoint checkpoint,
        LoadCheckpoint({.model = engine.model, .draft_model = engine.draft_model}));
    has_mtp_ = checkpoint.has_mtp;
    int64_t bytes = 0;
    for (const auto& [name, matrix] : checkpoint.weights.matrices) bytes += matrix.bytes();
    const int64_t available = AvailableMemoryBytes();
    if (available != 0 && bytes > available) {
      constexpr double kGib = 1024.0 * 1024 * 1024;
      return MakeError(StatusCode::kResourceExhausted, engine.model,
                       fmt::format("{:.1f} GiB of memory for the weights", bytes / kGib),
                       fmt::format("{:.1f} GiB available", available / kGib),
                       "a smaller shape or fewer bits");
    }
  }
  engine.with_mtp = has_mtp_;
  engine.context =
      std::max(options_.prompt_tokens, kMaxDecodePromptTokens + options_.decode_tokens) + kMaxRows;
  engine.progress = options_.progress;
  VERBATIM_ASSIGN_OR_RETURN(engine_, RecordingEngine::Load(engine, options_.stop));
  if (options_.on_loaded) options_.on_loaded();
  report_.info = engine_->engine().info();
  return {};
}

Status Bench::MakePrompts() {
  VERBATIM_ASSIGN_OR_RETURN(prompts_, MakeBenchPrompts(options_, engine_->engine()));
  report_.decode_prompt_tokens = static_cast<int>(prompts_.decode.size());
  return {};
}

Request Bench::DecodeRequest(int tokens, const SpeculationOptions& speculation) const {
  Request request;
  request.prompt_token_ids = prompts_.decode;
  request.max_tokens = tokens;
  request.ignore_eos = true;
  request.want_text = false;
  request.speculation = speculation;
  return request;
}

SpeculationOptions Bench::Replay(int rows) const {
  if (rows == 1) return {};
  return {.kind = SpeculationKind::kReplay, .draft_tokens = rows - 1, .replay = reference_};
}

SpeculationOptions Bench::Mtp() const {
  return {.kind = SpeculationKind::kMtp, .draft_tokens = options_.draft_tokens};
}

Expected<RecordedRun> Bench::GenerateEqual(const Request& request, Recording recording) {
  VERBATIM_ASSIGN_OR_RETURN(RecordedRun recorded, engine_->Generate(request, recording));
  const std::vector<int32_t>& ids = recorded.result.token_ids;
  if (ids.size() != static_cast<size_t>(request.max_tokens) ||
      !std::ranges::equal(ids, std::span(reference_).first(ids.size()))) {
    return MakeError(StatusCode::kInternal, "bench", "the token ids of the checked run",
                     "others while timing");
  }
  return recorded;
}

// Every arm once, with digests, before anything is timed; the passes' work is counted on the way.
Status Bench::CheckOutputs() {
  std::vector<ArmOutput> outputs;
  const double num_arms = kMaxRows + 2;
  const auto run = [&](const std::string& name,
                       const SpeculationOptions& speculation) -> Expected<RecordedRun> {
    if (options_.progress) {
      options_.progress(static_cast<double>(outputs.size()) / num_arms, "checking " + name);
    }
    Request request = DecodeRequest(options_.decode_tokens, speculation);
    request.logits_digest = true;
    VERBATIM_ASSIGN_OR_RETURN(RecordedRun recorded,
                              engine_->Generate(std::move(request), Recording::kFromFirstToken));
    outputs.push_back({name, recorded.result.token_ids, recorded.result.logits_sha256});
    return recorded;
  };
  VERBATIM_ASSIGN_OR_RETURN(classic_, run("classic decode", {}));
  reference_ = classic_.result.token_ids;
  for (int rows = 1; rows <= kMaxRows; ++rows) {
    RecordedRun recorded = classic_;
    if (rows > 1) {
      VERBATIM_ASSIGN_OR_RETURN(recorded,
                                run(fmt::format("blocks of {} rows", rows), Replay(rows)));
    }
    // The first whole block; the last one may be shorter.
    const auto whole = std::ranges::find_if(
        recorded.passes, [rows](const Pass& pass) { return !pass.drafter && pass.rows == rows; });
    if (whole != recorded.passes.end()) row_work_[rows - 1] = whole->TotalWork();
    if (rows == options_.draft_tokens + 1) perfect_ = recorded;
  }
  if (has_mtp_) {
    VERBATIM_ASSIGN_OR_RETURN(mtp_, run("MTP decode", Mtp()));
  }
  report_.difference = FindDifference(outputs);

  Request prefill = DecodeRequest(1, {});
  prefill.prompt_token_ids = prompts_.prefill;
  VERBATIM_ASSIGN_OR_RETURN(const RecordedRun counted,
                            engine_->Generate(prefill, Recording::kFromPrompt));
  for (const Pass& pass : counted.passes) prefill_work_ += pass.TotalWork();
  for (size_t bits = 0; bits < prefill_work_.dots.size(); ++bits) {
    if (prefill_work_.dots[bits] > 0) bits_.push_back(static_cast<int>(bits));
  }
  return {};
}

Status Bench::MakeMachine() {
  VERBATIM_ASSIGN_OR_RETURN(
      machine_, Machine::Create(report_.info.target, report_.info.num_threads, ReadBufferBytes()));
  const auto step_bytes = static_cast<int64_t>(row_work_[0].bytes);
  report_.memory.bytes = machine_->buffer_bytes();
  if (step_bytes <= LastLevelCacheBytes()) report_.cache = BandwidthResult{.bytes = step_bytes};
  return {};
}

Status Bench::Measure() {
  AddMachineArms();
  AddModelArms();
  VERBATIM_ASSIGN_OR_RETURN(const auto samples,
                            RunInterleaved(arms_, options_.rounds, options_.progress));
  Report(samples);
  return {};
}

void Bench::AddMachineArms() {
  const auto add_reads = [this](std::string_view what, int64_t bytes) {
    for (const ReadSetting& setting : machine_->read_settings()) {
      AddArm(fmt::format("{}, {} threads, {} streams", what, setting.threads, setting.streams),
             [=, this]() -> Expected<double> { return machine_->ReadRate(setting, bytes); });
    }
  };
  add_reads("reading memory", report_.memory.bytes);
  if (report_.cache) add_reads("reading cache", report_.cache->bytes);
  AddArm("fma", [this]() -> Expected<double> { return machine_->FmaRate(); });
  for (const int bits : bits_) {
    AddArm(fmt::format("{}-bit dots", bits),
           [this, bits]() -> Expected<double> { return machine_->DotRate(bits); });
  }
}

void Bench::AddModelArms() {
  AddArm("prefill", [this]() -> Expected<double> {
    Request request = DecodeRequest(1, {});
    request.prompt_token_ids = prompts_.prefill;
    VERBATIM_ASSIGN_OR_RETURN(const RecordedRun run,
                              engine_->Generate(std::move(request), Recording::kNone));
    return run.result.timings.prompt_ms;
  });
  // Per token, then per block.
  const auto decode = [this](std::string name, const SpeculationOptions& speculation) {
    AddArm(std::move(name), [this, speculation]() -> Expected<double> {
      VERBATIM_ASSIGN_OR_RETURN(
          const RecordedRun run,
          GenerateEqual(DecodeRequest(options_.decode_tokens, speculation), Recording::kNone));
      return run.result.timings.predicted_ms / (options_.decode_tokens - 1);
    });
  };
  decode("classic decode", {});
  decode("perfect drafter", Replay(options_.draft_tokens + 1));
  if (has_mtp_) decode("MTP decode", Mtp());
  for (int rows = 2; rows <= kMaxRows; ++rows) {
    AddArm(fmt::format("blocks of {} rows", rows), [this, rows]() -> Expected<double> {
      const int blocks = std::clamp((options_.decode_tokens - 1) / rows, 1, kBlocks);
      VERBATIM_ASSIGN_OR_RETURN(
          const RecordedRun run,
          GenerateEqual(DecodeRequest(1 + blocks * rows, Replay(rows)), Recording::kNone));
      return run.result.timings.predicted_ms / blocks;
    });
  }
  const auto profile = [this](std::string name, const SpeculationOptions& speculation, bool drafter,
                              std::vector<MeanStep>* rounds) {
    AddArm(std::move(name), [=, this]() -> Expected<double> {
      VERBATIM_ASSIGN_OR_RETURN(const RecordedRun run,
                                GenerateEqual(DecodeRequest(options_.decode_tokens, speculation),
                                              Recording::kFromFirstToken));
      rounds->push_back(MeanOf(run.passes, drafter));
      return run.result.timings.predicted_ms;
    });
  };
  profile("classic decode by part", {}, false, &step_rounds_);
  for (size_t i = 0; i < kBlocksByPart.size(); ++i) {
    profile(fmt::format("blocks of {} rows by part", kBlocksByPart[i]), Replay(kBlocksByPart[i]),
            false, &block_rounds_[i]);
  }
  if (has_mtp_) profile("MTP decode by part", Mtp(), true, &drafter_rounds_);
}

BandwidthResult Bench::BestRead(const std::vector<std::vector<double>>& samples, size_t* arm,
                                int64_t bytes) const {
  BandwidthResult best{.bytes = bytes};
  for (const ReadSetting& setting : machine_->read_settings()) {
    const Summary summary = Summarize(samples[(*arm)++]);
    if (summary.median <= best.bytes_per_s.median) continue;
    best.setting = setting;
    best.bytes_per_s = summary;
  }
  return best;
}

void Bench::ReportMachine(const std::vector<std::vector<double>>& samples, size_t* arm) {
  report_.memory = BestRead(samples, arm, report_.memory.bytes);
  report_.peaks.bytes = report_.memory.bytes_per_s.median;
  if (report_.cache) {
    report_.cache = BestRead(samples, arm, report_.cache->bytes);
    report_.peaks.bytes = std::max(report_.peaks.bytes, report_.cache->bytes_per_s.median);
  }
  report_.fmas_per_s = Summarize(samples[(*arm)++]);
  report_.peaks.fmas = report_.fmas_per_s.median;
  for (const int bits : bits_) {
    report_.dots_per_s.emplace_back(bits, Summarize(samples[(*arm)++]));
    report_.peaks.dots[static_cast<size_t>(bits)] = report_.dots_per_s.back().second.median;
  }
}

double Bench::LimitSeconds(std::span<const Pass> passes) const {
  double seconds = 0;
  for (const Pass& pass : passes) seconds += LimitOf(pass.TotalWork(), report_.peaks).seconds();
  return seconds;
}

DecodeSpeed Bench::Decode(std::span<const double> ms, std::span<const double> classic_ms,
                          const RecordedRun& recorded) const {
  DecodeSpeed speed;
  std::vector<double> rates;
  std::vector<double> ratios;
  for (size_t i = 0; i < ms.size(); ++i) {
    rates.push_back(1000 / ms[i]);
    ratios.push_back(classic_ms[i] / ms[i]);
  }
  speed.tokens_per_s = Summarize(rates);
  speed.speedup = Summarize(ratios);
  speed.per_token.ms = Summarize({ms.begin(), ms.end()});
  speed.stats = recorded.result.speculation;
  // Blocks differ in rows and passes in what bounds them: their limits are added one by one, and
  // the totals scaled to that sum.
  const double tokens = options_.decode_tokens - 1;
  Work total;
  for (const Pass& pass : recorded.passes) total += pass.TotalWork();
  const Limit whole = LimitOf(total, report_.peaks);
  const double scale = LimitSeconds(recorded.passes) / (whole.seconds() * tokens);
  speed.per_token.work = total;
  speed.per_token.limit = {.memory_s = whole.memory_s * scale,
                           .compute_s = whole.compute_s * scale};
  return speed;
}

void Bench::Report(const std::vector<std::vector<double>>& samples) {
  size_t arm = 0;
  ReportMachine(samples, &arm);
  const Peaks& peaks = report_.peaks;
  report_.prefill = {.ms = Summarize(samples[arm++]),
                     .work = prefill_work_,
                     .limit = LimitOf(prefill_work_, peaks)};
  const std::vector<double>& classic = samples[arm++];
  report_.classic = Decode(classic, classic, classic_);
  report_.perfect = Decode(samples[arm++], classic, perfect_);
  if (has_mtp_) report_.mtp = Decode(samples[arm++], classic, mtp_);
  for (int rows = 1; rows <= kMaxRows; ++rows) {
    const Work& work = row_work_[rows - 1];
    report_.rows.push_back({.ms = Summarize(rows == 1 ? classic : samples[arm++]),
                            .work = work,
                            .limit = LimitOf(work, peaks)});
  }
  report_.step = AnatomyOf(step_rounds_, peaks);
  for (size_t i = 0; i < kBlocksByPart.size(); ++i) {
    report_.blocks.emplace_back(kBlocksByPart[i], AnatomyOf(block_rounds_[i], peaks));
  }
  if (has_mtp_) report_.drafter = AnatomyOf(drafter_rounds_, peaks);
}

}  // namespace

std::optional<std::string> FindDifference(std::span<const ArmOutput> arms) {
  for (const ArmOutput& arm : arms) {
    const ArmOutput& first = arms.front();
    if (arm.token_ids != first.token_ids) {
      return fmt::format("the token ids of {} and of {} differ", arm.name, first.name);
    }
    if (arm.logits_sha256 != first.logits_sha256) {
      return fmt::format("the logits of {} and of {} differ", arm.name, first.name);
    }
  }
  return std::nullopt;
}

Status CheckBenchOptions(const BenchOptions& options) {
  const auto check = [](std::string_view where, int64_t value, int64_t low) -> Status {
    if (value >= low) return {};
    return MakeError(StatusCode::kInvalidArgument, where, fmt::format("at least {}", low),
                     fmt::format("{}", value));
  };
  VERBATIM_RETURN_IF_ERROR(check("rounds", options.rounds, 1));
  VERBATIM_RETURN_IF_ERROR(check("prompt-tokens", options.prompt_tokens, 1));
  VERBATIM_RETURN_IF_ERROR(check("decode-tokens", options.decode_tokens, kMinDecodeTokens));
  return check("draft-tokens", options.draft_tokens, 1);
}

Expected<BenchReport> RunBench(const BenchOptions& options) {
  VERBATIM_RETURN_IF_ERROR(CheckBenchOptions(options));
  return Bench(options).Run();
}

}  // namespace verbatim
