// The verb demo: one prompt with classic decode and with MTP, whether they agree, and how fast.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/verbatim/demo_report.h"
#include "apps/verbatim/generation.h"
#include "apps/verbatim/json_output.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kDefaultPrompt = "Once upon a time there was a king who had three sons.";

// Three give a median, two do not; the demo as a whole should stay below about 15 s with loading,
// so slow machines repeat once or not at all.
int Repetitions(double once_ms) {
  constexpr double kBudgetMs = 12'000;
  const double affordable = (kBudgetMs - once_ms) / std::max(once_ms, 1.0);
  return affordable >= 3 ? 3 : affordable >= 1 ? 1 : 0;
}

double TotalMs(const Result& result) {
  return result.timings.prompt_ms + result.timings.predicted_ms;
}

double Speed(const Result& result) {
  return PerSecond(TimedTokens(result), result.timings.predicted_ms);
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Demo {
 public:
  Demo(Engine& engine, Terminal& terminal, Request request)
      : engine_(engine), terminal_(terminal), request_(std::move(request)) {}

  Expected<int> Run(std::string_view prompt, const SpeculationOptions& mtp_options) {
    VERBATIM_ASSIGN_OR_RETURN(const Result classic, Stream("classic decode", prompt, {}));
    if (const int code = signals_.exit_code(); code != 0) return code;
    VERBATIM_ASSIGN_OR_RETURN(
        const Result mtp,
        Stream(fmt::format("MTP, {}", DraftsName(mtp_options)), prompt, mtp_options));
    if (const int code = signals_.exit_code(); code != 0) return code;

    ArmComparison comparison = CompareArms(classic, mtp, engine_.info().vocab_size);
    DemoSpeeds speeds = {.classic = Speed(classic), .mtp = Speed(mtp)};
    if (comparison.equal()) {
      VERBATIM_ASSIGN_OR_RETURN(const bool equal, Measure(classic, mtp, mtp_options, &speeds));
      if (!equal) ++comparison.tokens_that_differ;
    }
    if (const int code = signals_.exit_code(); code != 0) return code;
    VERBATIM_RETURN_IF_ERROR(
        terminal_.Write(DemoReport(classic, mtp, comparison, speeds, terminal_)));
    return comparison.equal() ? kExitOk : kExitDivergence;
  }

 private:
  static std::string DraftsName(const SpeculationOptions& options) {
    if (options.automatic) return "as many drafts as pay";
    return fmt::format("{} draft{} per block", options.draft_tokens,
                       options.draft_tokens == 1 ? "" : "s");
  }

  // One arm with its text on the terminal; tokens that were drafted stand out.
  Expected<Result> Stream(std::string_view title, std::string_view prompt,
                          const SpeculationOptions& speculation) {
    // Only when the engine has taken the request: an error must not stand below a heading.
    bool headed = false;
    const auto head = [&]() -> Status {
      if (std::exchange(headed, true)) return Status();
      return terminal_.Write(fmt::format("{}\n{}", terminal_.OnOutput(Style::kBold, title),
                                         terminal_.OnOutput(Style::kDim, prompt)));
    };
    Request request = request_;
    request.speculation = speculation;
    request.logits_digest = true;
    VERBATIM_ASSIGN_OR_RETURN(Result result,
                              RunRequest(engine_, std::move(request), signals_,
                                         [&](std::string_view text, bool drafted) -> Status {
                                           VERBATIM_RETURN_IF_ERROR(head());
                                           return terminal_.Write(terminal_.OnOutput(
                                               drafted ? Style::kGood : Style::kPlain, text));
                                         }));
    VERBATIM_RETURN_IF_ERROR(head());
    VERBATIM_RETURN_IF_ERROR(terminal_.Write("\n\n"));
    if (result.finish_reason == FinishReason::kError) return result.error;
    return result;
  }

  // Repeats both arms in turn, so that a machine that warms up or is shared treats them alike.
  // False: a repetition gave other tokens.
  Expected<bool> Measure(const Result& classic, const Result& mtp,
                         const SpeculationOptions& mtp_options, DemoSpeeds* speeds) {
    const int repetitions = Repetitions(TotalMs(classic) + TotalMs(mtp));
    std::vector<double> classic_speeds;
    std::vector<double> mtp_speeds;
    for (int i = 0; i < repetitions; ++i) {
      for (const bool with_mtp : {false, true}) {
        Request request = request_;
        request.want_text = false;
        if (with_mtp) request.speculation = mtp_options;
        VERBATIM_ASSIGN_OR_RETURN(const Result result,
                                  RunRequest(engine_, std::move(request), signals_, {}));
        if (signals_.exit_code() != 0) return true;
        if (result.token_ids != classic.token_ids) return false;
        (with_mtp ? mtp_speeds : classic_speeds).push_back(Speed(result));
      }
      terminal_.Progress((i + 1.0) / repetitions, "measuring");
    }
    terminal_.EndProgress();
    if (repetitions > 0) {
      *speeds = {
          .classic = Median(classic_speeds), .mtp = Median(mtp_speeds), .repetitions = repetitions};
    }
    return true;
  }

  Engine& engine_;
  Terminal& terminal_;
  Request request_;
  DeferredSignals signals_;
};

}  // namespace

Expected<int> RunDemo(const CommandLine& line, Terminal& terminal) {
  VERBATIM_ASSIGN_OR_RETURN(EngineOptions options, ReadEngineOptions(line));
  if (line.Given("prompt") && line.Text("prompt").empty()) {
    return MakeError(StatusCode::kInvalidArgument, "--prompt", "a text to continue", "an empty one",
                     "leaving it out");
  }
  options.with_mtp = true;
  VERBATIM_ASSIGN_OR_RETURN(const auto engine, LoadEngine(options, terminal));

  const std::string prompt =
      line.Given("prompt") ? line.Text("prompt") : std::string(kDefaultPrompt);
  Request request;
  VERBATIM_ASSIGN_OR_RETURN(request.prompt_token_ids, engine->Tokenize(prompt));
  request.max_tokens = line.Number("max-tokens");
  request.ignore_eos =
      true;  // both arms run for the same number of tokens, whatever the model says
  SpeculationOptions mtp;
  mtp.kind = SpeculationKind::kMtp;
  mtp.automatic = line.Text("draft-tokens") == "auto";
  mtp.draft_tokens =
      mtp.automatic ? kMaxDraftTokens : static_cast<int>(line.Number("draft-tokens"));
  return Demo(*engine, terminal, std::move(request)).Run(prompt, mtp);
}

}  // namespace verbatim::cli
