// The verb flips: the flip rate of a model, or of two servers against each other. The measuring is
// in src/measure.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "apps/verbatim/flip_options.h"
#include "apps/verbatim/flip_report.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "base/check.h"
#include "base/file_writer.h"
#include "base/mapped_file.h"
#include "measure/http_client.h"

namespace verbatim::cli {
namespace {

constexpr size_t kMaxPromptBytes = size_t{64} << 20;  // as of the other verbs' prompts

Status Fault(std::string_view where, std::string_view expected, std::string_view received) {
  return MakeError(StatusCode::kInvalidArgument, where, expected, received,
                   "verbatim flips --help");
}

Status CheckOptions(const CommandLine& line) {
  const bool servers = line.Given("baseline") || line.Given("candidate");
  if (servers == line.Given("model")) {
    return Fault("flips", "either --model or --baseline and --candidate",
                 servers ? "both" : "neither");
  }
  if (servers && !line.Given("candidate")) return Fault("--candidate", "a URL", "none");
  if (servers && !line.Given("baseline")) return Fault("--baseline", "a URL", "none");
  for (const std::string_view name :
       {"contract", "widths", "positions", "spec", "draft-model", "threads", "kv-type"}) {
    if (servers && line.Given(name)) {
      return Fault(fmt::format("--{}", name), "--model beside it", "--baseline");
    }
  }
  for (const std::string_view name : {"endpoint", "model-name", "api-key", "logprobs", "timeout"}) {
    if (!servers && line.Given(name)) {
      return Fault(fmt::format("--{}", name), "--baseline and --candidate beside it", "--model");
    }
  }
  if (line.Given("json") && line.Given("markdown")) {
    return Fault("--markdown", "no --json beside it", "both");
  }
  if (servers && line.Number("tokens") == 0) return Fault("--tokens", "at least 1", "0");
  if (!servers && line.Number("tokens") == 0 && line.Number("positions") == 0) {
    return Fault("--positions", "--positions or --tokens to measure", "0 of both");
  }
  if (!servers && line.Number("positions") == 1)
    return Fault("--positions", "0, or 2 and more", "1");
  const std::string& spec = line.Text("spec");
  if (line.Given("draft-model") && spec != "mtp" && spec != "auto") {
    return Fault("--draft-model", "--spec mtp beside it", "--spec " + spec);
  }
  return {};
}

// What is left by the pace so far, in words that don't change with every step.
class Remaining {
 public:
  std::string Of(double fraction, const std::string& what) const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    // Before that the pace is a guess.
    if (passed.count() < 1 || fraction < 0.001) return what;
    const double left = passed.count() * (1 - fraction) / fraction;
    if (left < 90) return fmt::format("{}, {:.0f} s left", what, left);
    if (left < 5400) return fmt::format("{}, {:.0f} min left", what, left / 60);
    return fmt::format("{}, {:.1f} h left", what, left / 3600);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Expected<std::vector<FlipPrompt>> ReadPrompts(const CommandLine& line) {
  if (!line.Given("prompts")) return DefaultFlipPrompts();
  const std::string& path = line.Text("prompts");
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxPromptBytes));
  return ParseFlipPrompts(text, path);
}

FlipOptions ReadLocal(const CommandLine& line) {
  FlipOptions options;
  options.engine.model = line.Text("model");
  options.engine.draft_model = line.Text("draft-model");
  options.engine.num_threads = static_cast<int>(line.Number("threads"));
  options.engine.kv_type = KvTypeOf(line);
  const auto mode = ParseContractMode(line.Text("contract"));
  VERBATIM_CHECK(mode.has_value());  // the option table lists the modes
  options.engine.contract = *mode;
  options.positions = line.Number("positions");
  options.tokens = line.Number("tokens");
  options.seed = static_cast<uint64_t>(line.Number("seed"));
  for (const SpeculationKind kind : {SpeculationKind::kMtp, SpeculationKind::kNgram,
                                     SpeculationKind::kReplay, SpeculationKind::kWrong}) {
    if (line.Text("spec") == SpeculationKindName(kind)) options.spec = kind;
  }
  return options;
}

Expected<RemoteOptions> ReadRemote(const CommandLine& line) {
  for (const std::string_view name : {"baseline", "candidate"}) {  // before either is called
    VERBATIM_RETURN_IF_ERROR(ParseHttpUrl(line.Text(name), fmt::format("--{}", name)).status());
  }
  RemoteOptions options;
  options.urls = {line.Text("baseline"), line.Text("candidate")};
  options.api_key = line.Text("api-key");
  options.model = line.Text("model-name");
  options.tokens = line.Number("tokens");
  options.timeout_ms = 1000 * line.Number("timeout");
  options.seed = static_cast<uint64_t>(line.Number("seed"));
  options.logprobs = line.Text("logprobs") == "on";
  if (line.Text("endpoint") == "chat") options.endpoint = Endpoint::kChat;
  if (line.Text("endpoint") == "completions") options.endpoint = Endpoint::kCompletions;
  return options;
}

Status WriteReport(const CommandLine& line, Terminal& terminal, const Page& page,
                   const std::string& json) {
  if (line.Given("html")) {
    VERBATIM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(line.Text("html")));
    VERBATIM_RETURN_IF_ERROR(writer.Write(PageHtml(page)));
    VERBATIM_RETURN_IF_ERROR(writer.Commit());
  }
  return terminal.Write(line.Given("json")       ? json + "\n"
                        : line.Given("markdown") ? PageMarkdown(page)
                                                 : PageText(page, terminal.output_color()));
}

Expected<int> RunLocal(const CommandLine& line, Terminal& terminal, FlipOptions options,
                       const DeferredSignals& signals) {
  const Expected<FlipReport> measured = RunFlips(options);
  terminal.EndProgress();
  if (measured.status().code() == StatusCode::kCancelled) return signals.exit_code();
  VERBATIM_ASSIGN_OR_RETURN(const FlipReport report, measured);
  VERBATIM_RETURN_IF_ERROR(WriteReport(line, terminal, FlipPage(report, options.prompts),
                                       FlipJson(report, options.prompts)));
  const bool promised = options.engine.contract != ContractMode::kGreedy;
  return promised && report.AnyDifference() ? kExitDivergence : kExitOk;
}

Expected<int> RunRemote(const CommandLine& line, Terminal& terminal, const RemoteOptions& options,
                        const DeferredSignals& signals) {
  const Expected<RemoteReport> measured = RunRemoteFlips(options);
  terminal.EndProgress();
  if (measured.status().code() == StatusCode::kCancelled) return signals.exit_code();
  VERBATIM_ASSIGN_OR_RETURN(const RemoteReport report, measured);
  VERBATIM_RETURN_IF_ERROR(WriteReport(line, terminal, RemoteFlipPage(report, options.prompts),
                                       RemoteFlipJson(report, options.prompts)));
  // Divergences are what is measured here; what can't be measured is the failure.
  for (const ArmReport& arm : report.arms) {
    if (!arm.first_error.empty()) return Status(StatusCode::kIo, arm.first_error);
  }
  if (report.compared == 0) {
    return MakeError(StatusCode::kIo, "flips", "answers to compare",
                     fmt::format("none in {} prompts", report.prompts), "--endpoint chat");
  }
  return kExitOk;
}

}  // namespace

Expected<int> RunFlips(const CommandLine& line, Terminal& terminal) {
  VERBATIM_RETURN_IF_ERROR(CheckOptions(line));
  VERBATIM_ASSIGN_OR_RETURN(const std::vector<int> widths, ParseWidths(line.Text("widths")));
  VERBATIM_ASSIGN_OR_RETURN(const std::vector<FlipPrompt> prompts, ReadPrompts(line));
  const DeferredSignals signals;
  const Remaining remaining;
  const auto stop = [&signals] { return signals.exit_code() != 0; };
  const auto progress = [&](double fraction, const std::string& what) {
    terminal.Progress(fraction, remaining.Of(fraction, what));
  };
  if (line.Given("model")) {
    FlipOptions options = ReadLocal(line);
    options.widths = widths;
    options.prompts = prompts;
    options.progress = progress;
    options.stop = stop;
    return RunLocal(line, terminal, std::move(options), signals);
  }
  VERBATIM_ASSIGN_OR_RETURN(RemoteOptions options, ReadRemote(line));
  options.prompts = prompts;
  options.progress = progress;
  options.stop = stop;
  return RunRemote(line, terminal, options, signals);
}

}  // namespace verbatim::cli
