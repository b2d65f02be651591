// Baseline, candidate, baseline, candidate: prompt by prompt.
#include "measure/remote_flips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "measure/teacher_forced.h"

namespace verbatim {
namespace {

// One failure may be an accident; after three in a row the server is gone.
constexpr int kFailuresInARow = 3;
constexpr std::array<const char*, 2> kArmNames = {"baseline", "candidate"};
constexpr size_t kCandidate = 1;

Status Cancelled() {
  return MakeError(StatusCode::kCancelled, "flips", "to finish", "a request to stop");
}

// One server, and what is counted of it.
struct Arm {
  std::unique_ptr<CompletionServer> server;
  ArmReport report;
  int failures = 0;  // in a row
  bool drafts_told = false;
  bool would_tell = false;
  std::optional<DraftCounts> metrics_before;
  std::vector<Cluster> repeats;
  std::vector<Cluster> self;  // divergences and tokens
};

Expected<Arm> MakeArm(const RemoteOptions& options, size_t index) {
  Arm arm;
  VERBATIM_ASSIGN_OR_RETURN(
      HttpUrl url, ParseHttpUrl(options.urls[index], fmt::format("--{}", kArmNames[index])));
  if (url.path.ends_with("/v1")) url.path.resize(url.path.size() - 3);
  const HttpOptions http = {.timeout_ms = options.timeout_ms, .stop = options.stop};
  arm.server = std::make_unique<CompletionServer>(
      kArmNames[index], url,
      options.connect ? options.connect(url, http) : MakeHttpClient(url, http),
      CompletionOptions{.max_tokens = options.tokens,
                        .seed = options.seed,
                        .model = options.model,
                        .api_key = options.api_key,
                        .logprobs = options.logprobs});
  arm.report.url = options.urls[index];
  VERBATIM_RETURN_IF_ERROR(arm.server->Connect());
  arm.report.model = arm.server->model();
  return arm;
}

void CountDrafts(Arm& arm, const Answer& answer) {
  arm.would_tell = arm.would_tell || answer.would_tell_drafts;
  if (!answer.drafts) return;
  arm.drafts_told = true;
  arm.report.drafts.drafted += answer.drafts->drafted;
  arm.report.drafts.accepted += answer.drafts->accepted;
}

// An answer with something in it; nullopt: there is none, which is counted. Errors: kCancelled.
Expected<std::optional<Answer>> Ask(Arm& arm, const FlipPrompt& prompt, Endpoint endpoint) {
  ++arm.report.asked;
  Expected<Answer> answer = arm.server->Ask(prompt, endpoint);
  if (answer.status().code() == StatusCode::kCancelled) return answer.status();
  if (!answer.ok()) {
    ++arm.report.failed;
    ++arm.failures;
    if (arm.report.first_error.empty()) arm.report.first_error = answer.status().message();
    return std::optional<Answer>();
  }
  arm.failures = 0;
  CountDrafts(arm, *answer);
  if (answer->IsEmpty() && answer->tokens.empty()) {
    ++arm.report.empty;
    return std::optional<Answer>();
  }
  return std::optional(*std::move(answer));
}

// Completions continue texts as they are; a server without them gets chats.
Expected<Endpoint> FindEndpoint(std::array<Arm, 2>& arms, const RemoteOptions& options) {
  if (options.endpoint) return *options.endpoint;
  for (Arm& arm : arms) {
    if (!options.prompts.front().messages_json.empty()) return Endpoint::kChat;
    const auto answer = arm.server->Ask(options.prompts.front(), Endpoint::kCompletions);
    if (answer.status().code() == StatusCode::kUnsupported) return Endpoint::kChat;
    if (!answer.ok()) return answer.status();
  }
  return Endpoint::kCompletions;
}

// Many servers don't speculate in requests that ask for log-probabilities. Then texts have to do.
Expected<bool> LogprobsTurnDraftsOff(Arm& candidate, const RemoteOptions& options,
                                     Endpoint endpoint) {
  const FlipPrompt& prompt = options.prompts.front();
  VERBATIM_ASSIGN_OR_RETURN(const Answer with, candidate.server->Ask(prompt, endpoint));
  if (!options.logprobs || (with.drafts && with.drafts->drafted > 0)) return false;
  const auto without = candidate.server->AskForText(prompt, endpoint);
  if (without.status().code() == StatusCode::kCancelled) return without.status();
  return without.ok() && without->drafts && without->drafts->drafted > 0;
}

void CountGaps(const Answer& a, const Answer& b, const AnswerComparison& comparison,
               RemoteReport& report, std::vector<float>& changes, int64_t& unflipped) {
  if (comparison.unit == AnswerUnit::kCharacters) return;
  const int64_t equal = comparison.units - (comparison.divergence ? 1 : 0);
  for (int64_t i = 0; i < std::min<int64_t>(equal, std::ssize(a.tokens)); ++i) {
    const AnsweredToken& left = a.tokens[static_cast<size_t>(i)];
    const AnsweredToken& right = b.tokens[static_cast<size_t>(i)];
    if (!left.gap) continue;
    report.gaps.Add(*left.gap);
    if (!right.gap || left.best != right.best || left.second != right.second) continue;
    ++unflipped;
    if (const float change = std::abs(*left.gap - *right.gap); change > 0) {
      changes.push_back(change);
    }
  }
  if (!comparison.divergence || !comparison.divergence->gap) return;
  report.gaps.Add(*comparison.divergence->gap);
  report.gaps_at_flips.Add(*comparison.divergence->gap);
}

// The answer given twice by one arm: whether it is the same.
bool CountRepeat(Arm& arm, const Answer& first, const Answer& second) {
  const AnswerComparison comparison = CompareAnswers(first, second);
  const bool differs = comparison.divergence.has_value();
  arm.repeats.push_back({.events = differs ? 1 : 0, .trials = 1});
  arm.self.push_back(
      {.events = differs ? 1 : 0, .trials = static_cast<int64_t>(std::ceil(comparison.tokens))});
  return !differs;
}

DraftVerdict VerdictOf(Arm& arm, const std::optional<DraftCounts>& metrics_after) {
  if (!arm.drafts_told && metrics_after) {
    const DraftCounts before = arm.metrics_before.value_or(DraftCounts{});
    arm.report.drafts = {.drafted = metrics_after->drafted - before.drafted,
                         .accepted = metrics_after->accepted - before.accepted};
    arm.report.drafts_from_metrics = true;
    return arm.report.drafts.drafted > 0 ? DraftVerdict::kRan : DraftVerdict::kNone;
  }
  if (arm.drafts_told) {
    return arm.report.drafts.drafted > 0 ? DraftVerdict::kRan : DraftVerdict::kNone;
  }
  return arm.would_tell ? DraftVerdict::kNone : DraftVerdict::kUntold;
}

}  // namespace

Expected<RemoteReport> RunRemoteFlips(const RemoteOptions& options) {
  if (options.prompts.empty()) {
    return MakeError(StatusCode::kInvalidArgument, "prompts", "at least one", "none");
  }
  RemoteReport report = {.prompts = static_cast<int64_t>(options.prompts.size()),
                         .max_tokens = options.tokens,
                         .seed = options.seed};
  std::array<Arm, 2> arms;
  for (size_t i = 0; i < arms.size(); ++i) {
    VERBATIM_ASSIGN_OR_RETURN(arms[i], MakeArm(options, i));
  }
  VERBATIM_ASSIGN_OR_RETURN(const Endpoint texts_to, FindEndpoint(arms, options));
  VERBATIM_ASSIGN_OR_RETURN(report.logprobs_off,
                            LogprobsTurnDraftsOff(arms[kCandidate], options, texts_to));
  for (Arm& arm : arms) {
    if (report.logprobs_off) arm.server->StopAskingForLogprobs();
    VERBATIM_ASSIGN_OR_RETURN(arm.metrics_before, arm.server->Metrics());
  }

  std::vector<Cluster> divergences;
  std::vector<Cluster> differing;
  std::vector<Lifetime> lives;
  std::vector<float> changes;
  int64_t unflipped = 0;
  for (size_t p = 0; p < options.prompts.size(); ++p) {
    const FlipPrompt& prompt = options.prompts[p];
    const Endpoint endpoint = options.endpoint               ? *options.endpoint
                              : prompt.messages_json.empty() ? texts_to
                                                             : Endpoint::kChat;
    if (std::ranges::any_of(arms, [](const Arm& a) { return a.failures >= kFailuresInARow; })) {
      report.not_asked = report.prompts - static_cast<int64_t>(p);
      break;
    }
    std::array<std::array<std::optional<Answer>, 2>, 2> answers;  // [arm][turn]
    for (size_t turn = 0; turn < 2; ++turn) {
      for (size_t i = 0; i < arms.size(); ++i) {
        if (options.stop && options.stop()) return Cancelled();
        if (options.progress) {
          const auto done = static_cast<double>(4 * p + 2 * turn + i);
          options.progress(done / static_cast<double>(4 * options.prompts.size()), kArmNames[i]);
        }
        // An arm without a first answer has nothing to repeat.
        if (turn == 1 && !answers[i][0]) continue;
        VERBATIM_ASSIGN_OR_RETURN(answers[i][turn], Ask(arms[i], prompt, endpoint));
      }
    }
    bool arms_repeat = true;
    for (size_t i = 0; i < arms.size(); ++i) {
      if (answers[i][0] && answers[i][1]) {
        arms_repeat = CountRepeat(arms[i], *answers[i][0], *answers[i][1]) && arms_repeat;
      }
    }
    if (!answers[0][0] || !answers[1][0]) {
      ++report.no_data;
      continue;
    }
    const AnswerComparison comparison = CompareAnswers(*answers[0][0], *answers[1][0]);
    ++report.compared;
    ++report.by_unit[static_cast<size_t>(comparison.unit)];
    CountGaps(*answers[0][0], *answers[1][0], comparison, report, changes, unflipped);
    const auto time = static_cast<int64_t>(std::ceil(comparison.tokens));
    const bool differs = comparison.divergence.has_value();
    divergences.push_back({.events = differs ? 1 : 0, .trials = time});
    differing.push_back({.events = differs ? 1 : 0, .trials = 1});
    lives.push_back({.time = time, .event = differs});
    report.longest = std::max(report.longest, time);
    if (differs) {
      report.flips.push_back({.prompt = static_cast<int64_t>(p),
                              .at = *comparison.divergence,
                              .arms_repeat = arms_repeat});
    }
  }

  for (Arm& arm : arms) {
    std::optional<DraftCounts> metrics;
    if (arm.failures < kFailuresInARow) {
      VERBATIM_ASSIGN_OR_RETURN(metrics, arm.server->Metrics());
    }
    arm.report.verdict = VerdictOf(arm, metrics);
    arm.report.repeats = ProportionOf(arm.repeats, options.seed);
    arm.report.self_divergences = RateOf(arm.self, options.seed);
  }
  for (size_t i = 0; i < arms.size(); ++i) report.arms[i] = std::move(arms[i].report);
  report.divergences = RateOf(divergences, options.seed);
  report.prompts_that_differ = ProportionOf(differing, options.seed);
  report.survival = KaplanMeier(lives);
  std::ranges::sort(changes);
  report.rounding_limit = RoundingLimit(changes, unflipped);
  if (report.rounding_limit) report.change_p99 = *report.rounding_limit / 4;
  for (RemoteFlip& flip : report.flips) {
    flip.large_gap = report.rounding_limit && flip.at.gap && *flip.at.gap > *report.rounding_limit;
  }
  return report;
}

}  // namespace verbatim
