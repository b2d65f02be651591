// One prompt, all arms, then the next one.
#include "measure/free_running.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "measure/flip_rows.h"

namespace verbatim {
namespace {

// Steps to the end. A request that ends with an error gives it; an error of `advance` cancels.
Expected<Result> Run(Engine& engine, Request request,
                     const std::function<Status(int64_t)>& advance) {
  Status stopped;
  int64_t tokens = 0;
  request.on_token = [&tokens](const TokenEvent&) { ++tokens; };
  VERBATIM_ASSIGN_OR_RETURN(const RequestId id, engine.Submit(std::move(request)));
  while (engine.Step()) {
    if (!stopped.ok()) continue;
    stopped = advance(std::exchange(tokens, 0));
    if (!stopped.ok()) VERBATIM_RETURN_IF_ERROR(engine.Cancel(id));
  }
  VERBATIM_ASSIGN_OR_RETURN(Result result, engine.TakeResult(id));
  if (!stopped.ok()) return stopped;
  if (result.finish_reason == FinishReason::kError) return result.error;
  return result;
}

void AddTo(SpeculationStats& sum, const SpeculationStats& stats) {
  sum.rounds += stats.rounds;
  sum.drafted += stats.drafted;
  sum.tested += stats.tested;
  sum.accepted += stats.accepted;
}

// The chain's gap at output position `position`.
Expected<float> GapAt(Engine& engine, const std::vector<int32_t>& prompt,
                      const std::vector<int32_t>& output, int64_t position) {
  std::vector<int32_t> ids = prompt;
  ids.insert(ids.end(), output.begin(), output.begin() + position);
  if (ids.size() < 2) return 0.0F;  // nothing to score; TokenizePrompts gives two at least
  VERBATIM_ASSIGN_OR_RETURN(const std::vector<ChainRow> rows,
                            ScoreChain(engine, ids, [] { return Status(); }));
  return rows.back().gap;
}

struct ArmCounts {
  FreeRunningArm arm;
  std::vector<Cluster> clusters;
  std::vector<Lifetime> lives;
};

int32_t TokenAt(const std::vector<int32_t>& ids, int64_t i) {
  // Behind the end of an output that stopped earlier; no token has this id.
  return i < static_cast<int64_t>(ids.size()) ? ids[static_cast<size_t>(i)] : -1;
}

}  // namespace

Expected<FreeRunning> MeasureFreeRunning(Engine& engine,
                                         std::span<const std::vector<int32_t>> prompts,
                                         const FlipOptions& options,
                                         std::optional<double> rounding_limit,
                                         const std::function<Status(int64_t)>& advance) {
  FreeRunning report = {
      .kind = options.spec.value_or(engine.info().has_mtp ? SpeculationKind::kMtp
                                                          : SpeculationKind::kReplay),
      .prompts = static_cast<int64_t>(prompts.size()),
      .tokens = options.tokens};
  if (engine.info().contract_held == ContractMode::kOff) {
    report.not_run = "the engine declines to speculate: " + engine.info().contract_reason;
    return report;
  }
  std::vector<ArmCounts> arms(options.widths.size());
  for (size_t w = 0; w < arms.size(); ++w) arms[w].arm.width = options.widths[w];

  for (size_t p = 0; p < prompts.size(); ++p) {
    Request request;
    const auto head = std::min(static_cast<int64_t>(prompts[p].size()), kFreeRunningPromptTokens);
    request.prompt_token_ids.assign(prompts[p].begin(), prompts[p].begin() + head);
    request.max_tokens = options.tokens;
    request.want_text = false;
    request.logits_digest = true;
    VERBATIM_ASSIGN_OR_RETURN(const Result classic, Run(engine, request, advance));
    for (ArmCounts& counts : arms) {
      FreeRunningArm& arm = counts.arm;
      request.speculation = {.kind = report.kind, .draft_tokens = arm.width - 1};
      if (report.kind == SpeculationKind::kReplay) request.speculation.replay = classic.token_ids;
      VERBATIM_ASSIGN_OR_RETURN(const Result result, Run(engine, request, advance));
      AddTo(arm.speculation, result.speculation);
      const auto at = FirstDifference<int32_t>(classic.token_ids, result.token_ids);
      // Token number at + 1 is the one that differs; without one the last token was seen equal.
      const int64_t time = at ? *at + 1 : static_cast<int64_t>(classic.token_ids.size());
      counts.clusters.push_back({.events = at ? 1 : 0, .trials = time});
      counts.lives.push_back({.time = time, .event = at.has_value()});
      arm.longest = std::max(arm.longest, time);
      if (!at) {
        arm.byte_differences += classic.logits_sha256 != result.logits_sha256 ? 1 : 0;
        continue;
      }
      Flip flip = {.prompt = static_cast<int64_t>(p),
                   .text = static_cast<int64_t>(p),
                   .position = *at,
                   .width = arm.width,
                   .chain_token = TokenAt(classic.token_ids, *at),
                   .block_token = TokenAt(result.token_ids, *at)};
      VERBATIM_ASSIGN_OR_RETURN(flip.chain_gap,
                                GapAt(engine, request.prompt_token_ids, classic.token_ids, *at));
      flip.state_bug = rounding_limit && flip.chain_gap > *rounding_limit;
      arm.state_bugs += flip.state_bug ? 1 : 0;
      if (arm.flips.size() < kMaxFlipsListed) arm.flips.push_back(flip);
    }
  }
  for (ArmCounts& counts : arms) {
    counts.arm.divergences = RateOf(counts.clusters, options.seed);
    counts.arm.survival = KaplanMeier(counts.lives);
    report.arms.push_back(std::move(counts.arm));
  }
  return report;
}

}  // namespace verbatim
