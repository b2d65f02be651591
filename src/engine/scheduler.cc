// The step, and the begin and end of requests. Not their states (admission.cc).
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "engine/check_sampling.h"
#include "engine/engine_impl.h"

namespace verbatim {
namespace {

Status UnknownRequest(RequestId id) {
  return MakeError(StatusCode::kNotFound, "request id", "a known request", fmt::format("{}", id));
}

double SecondsSince(RunningSequence::Clock::time_point start) {
  return std::chrono::duration<double>(RunningSequence::Clock::now() - start).count();
}

}  // namespace

Status Engine::Impl::CheckRequest(const Request& request) const {
  const auto refuse = [](std::string_view where, std::string_view expected,
                         std::string_view received, std::string_view advice = {}) {
    return MakeError(StatusCode::kInvalidArgument, where, expected, received, advice);
  };
  const int64_t vocab_size = info.vocab_size;
  const int64_t prompt_size = static_cast<int64_t>(request.prompt_token_ids.size());
  if (prompt_size == 0) return refuse("prompt", "at least one token", "none");
  if (prompt_size >= options.context) {
    return refuse("prompt", fmt::format("fewer tokens than the context of {}", options.context),
                  fmt::format("{}", prompt_size), "a larger --context");
  }
  for (const int32_t id : request.prompt_token_ids) {
    if (id < 0 || id >= vocab_size) {
      return refuse("prompt token ids", fmt::format("0 to {}", vocab_size - 1),
                    fmt::format("{}", id));
    }
  }
  if (request.max_tokens < 1) {
    return refuse("max_tokens", "at least 1", fmt::format("{}", request.max_tokens));
  }
  VERBATIM_RETURN_IF_ERROR(StopMatcher::Create(request.stop).status());
  VERBATIM_RETURN_IF_ERROR(CheckSampling(request.sampling, vocab_size));
  VERBATIM_RETURN_IF_ERROR(CheckConversation(request));
  for (size_t i = 0; i < request.cache_points.size(); ++i) {
    const int64_t least = i == 0 ? 1 : request.cache_points[i - 1] + 1;
    if (request.cache_points[i] < least || request.cache_points[i] >= prompt_size) {
      return refuse("cache_points", fmt::format("ascending, {} to {}", least, prompt_size - 1),
                    fmt::format("{}", request.cache_points[i]));
    }
  }
  const SpeculationOptions& speculation = request.speculation;
  if (speculation.kind == SpeculationKind::kOff) return {};
  if (speculation.draft_tokens < 1 || speculation.draft_tokens > kMaxDraftTokens) {
    return refuse("draft_tokens", fmt::format("1 to {}", kMaxDraftTokens),
                  fmt::format("{}", speculation.draft_tokens));
  }
  if (speculation.kind == SpeculationKind::kMtp && mtp_drafter == nullptr) {
    return refuse("speculation", "an engine loaded with its MTP head", info.mtp_source,
                  "EngineOptions::with_mtp");
  }
  for (const int32_t id : speculation.replay) {
    if (id < 0 || id >= vocab_size) {
      return refuse("replay", fmt::format("ids of 0 to {}", vocab_size - 1), fmt::format("{}", id));
    }
  }
  return {};
}

Expected<std::shared_ptr<const CompiledConstraint>> Engine::Impl::CompileConstraint(
    const ConstraintOptions& constraint) const {
  std::shared_ptr<const GrammarCompiler> compiler;
  {
    const std::lock_guard lock(grammar_mutex);
    if (!grammar_compiler) {
      VERBATIM_ASSIGN_OR_RETURN(grammar_compiler,
                                GrammarCompiler::Create(tokenizer, info.eos_token_ids));
    }
    compiler = grammar_compiler;
  }
  VERBATIM_ASSIGN_OR_RETURN(GrammarMatcher start, compiler->Compile(constraint));
  return std::make_shared<const CompiledConstraint>(
      CompiledConstraint{.start = std::move(start), .mask_words = compiler->MaskWords()});
}

Expected<RequestId> Engine::Impl::Submit(Request request) {
  VERBATIM_RETURN_IF_ERROR(CheckRequest(request));
  if (request.constraint.kind != ConstraintKind::kNone && !request.compiled_constraint) {
    VERBATIM_ASSIGN_OR_RETURN(request.compiled_constraint, CompileConstraint(request.constraint));
  }
  if (info.contract_held == ContractMode::kOff) request.speculation.kind = SpeculationKind::kOff;
  const RequestId id = next_id++;
  if (Conversation* own = FindConversation(request.conversation)) own->busy = true;
  waiting.push_back({id, std::move(request), RunningSequence::Clock::now()});
  return id;
}

Status Engine::Impl::Cancel(RequestId id) {
  const auto cancel = [id](const std::unique_ptr<RunningSequence>& sequence) {
    if (sequence->id() != id) return false;
    sequence->Cancel();  // retired by the step that runs or comes next
    return true;
  };
  if (std::ranges::any_of(running, cancel) || std::ranges::any_of(ready, cancel)) return {};
  const auto it = std::find_if(waiting.begin(), waiting.end(),
                               [id](const auto& entry) { return entry.id == id; });
  if (it == waiting.end()) return UnknownRequest(id);
  if (Conversation* own = FindConversation(it->request.conversation)) own->busy = false;
  waiting.erase(it);
  Result result;
  result.finish_reason = FinishReason::kCancelled;
  finished.emplace(id, std::move(result));
  return {};
}

Expected<Result> Engine::Impl::TakeResult(RequestId id) {
  const auto it = finished.find(id);
  if (it == finished.end()) return UnknownRequest(id);
  Result result = std::move(it->second);
  finished.erase(it);
  return result;
}

bool Engine::Impl::Step() {
  VERBATIM_CHECK(!in_step);
  in_step = true;
  const bool more = RunStep();
  in_step = false;
  return more;
}

bool Engine::Impl::RunStep() {
  RetireEnded();  // cancelled between steps
  Admit();
  MakeRoom();
  plan->Build(running);
  if (plan->empty()) {
    // One sequence always fits: Load and CheckRequest saw to that.
    VERBATIM_CHECK(waiting.empty() && ready.empty());
    return false;
  }
  const auto start = RunningSequence::Clock::now();
  CountStep();
  RunPlan();
  KeepAfterStep();
  ProposeDrafts();
  KeepForOthers();
  RetireEnded();
  counts.step_seconds += SecondsSince(start);
  return true;
}

void Engine::Impl::CountStep() {
  ++counts.steps;
  for (const PlannedRows& planned : plan->planned()) {
    planned.sequence->StartClock();
    (planned.sequence->in_prompt() ? counts.prompt_rows : counts.decode_rows) += planned.num_rows;
  }
}

EngineStats Engine::Impl::Stats() const {
  EngineStats stats = counts;
  stats.running = static_cast<int64_t>(running.size());
  stats.waiting = static_cast<int64_t>(waiting.size() + ready.size());
  stats.kv_pages = kv->num_pages();
  stats.kv_pages_used = kv->num_pages() - kv->num_free_pages();
  if (prefix_cache == nullptr) return stats;
  const PrefixCacheStats cache = prefix_cache->stats();
  stats.cache_queried_tokens = cache.queried_tokens;
  stats.cache_hit_tokens = cache.hit_tokens;
  stats.cache_entries = cache.entries;
  stats.cache_bytes = cache.bytes;
  stats.cache_evictions = cache.evictions;
  return stats;
}

void Engine::Impl::RunPlan() {
  const auto start = RunningSequence::Clock::now();
  const int64_t vocab_size = info.vocab_size;
  model->Forward(plan->tokens(), plan->step(), caches);
  if (!plan->logit_rows().empty()) {
    const float* logits = model->Logits(plan->logit_rows());
    backend->BestLogits({.logits = logits,
                         .num_rows = static_cast<int>(plan->logit_rows().size()),
                         .vocab_size = vocab_size,
                         .num_choosable = num_choosable,
                         .best = best_logits.data()});
    for (const PlannedRows& planned : plan->planned()) {
      if (!planned.sequence->needs_logits()) continue;
      const int64_t first = planned.first_logit_row * vocab_size;
      backend->CopyToHost(host_logits.data() + first, logits + first,
                          planned.num_logit_rows * vocab_size * sizeof(float));
    }
  }
  if (plan->decode_only()) pace().costs.AddStep(plan->num_rows(), SecondsSince(start));
  for (const PlannedRows& planned : plan->planned()) {
    planned.sequence->Accept(
        planned.num_rows,
        {.best = std::span(best_logits).subspan(planned.first_logit_row, planned.num_logit_rows),
         .logits = std::span<const float>(host_logits)
                       .subspan(planned.first_logit_row * vocab_size,
                                planned.num_logit_rows * vocab_size)},
        *sampler_scratch);
  }
}

void Engine::Impl::ProposeDrafts() {
  for (const SpeculationKind kind : {SpeculationKind::kMtp, SpeculationKind::kNgram,
                                     SpeculationKind::kReplay, SpeculationKind::kWrong}) {
    jobs.clear();
    job_sequences.clear();
    for (const PlannedRows& planned : plan->planned()) {
      RunningSequence& sequence = *planned.sequence;
      if (sequence.drafter() != kind) continue;
      // The head of a state that is kept must not fall behind; only its last row waits for the next
      // prompt.
      const bool ends = sequence.ended();
      const int num_rows = sequence.num_accepted_rows() - (ends ? 1 : 0);
      if (ends && (kind != SpeculationKind::kMtp || num_rows == 0 ||
                   !(KeepsState(sequence) || IsWorthKeeping(sequence)))) {
        continue;
      }
      jobs.push_back({.state = &sequence.state,
                      .tokens = sequence.tokens(),
                      .prompt_size = sequence.prompt_size(),
                      .replay = sequence.request().speculation.replay,
                      .first_row = planned.first_row,
                      .num_rows = num_rows,
                      .last_row_waits = ends,
                      .sampler = sequence.sampler(),
                      .with_noise = sequence.request().speculation.draft_noise,
                      .max_drafts = sequence.MaxDrafts(),
                      .drafts = sequence.drafts.data()});
      job_sequences.push_back(&sequence);
    }
    if (jobs.empty()) continue;
    ChooseWidths(kind);
    int most_drafts = 0;
    for (const DraftJob& job : jobs) most_drafts = std::max(most_drafts, job.max_drafts);
    const auto start = RunningSequence::Clock::now();
    Drafter* drafter = list_drafters[static_cast<size_t>(kind)].get();
    if (kind == SpeculationKind::kMtp) drafter = mtp_drafter.get();
    drafter->Propose(jobs, model->hidden());
    if (plan->decode_only()) pace().costs.AddDrafting(kind, most_drafts, SecondsSince(start));
    for (size_t i = 0; i < jobs.size(); ++i) job_sequences[i]->SetNumDrafts(jobs[i].num_drafts);
  }
}

BatchPace& Engine::Impl::PaceOf(size_t num_sequences) {
  size_t index = 0;
  while (index + 1 < paces.size() && (size_t{1} << index) < num_sequences) ++index;
  return paces[index];
}

void Engine::Impl::ChooseWidths(SpeculationKind kind) {
  candidates.clear();
  int other_rows = static_cast<int>(plan->planned().size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const RunningSequence& sequence = *job_sequences[i];
    if (!sequence.request().speculation.automatic || sequence.ended() || sequence.in_prompt()) {
      other_rows += jobs[i].max_drafts;
      continue;
    }
    shared_acceptance[static_cast<size_t>(kind)].AddRound(
        sequence.num_tested(), static_cast<int>(sequence.state.num_accepted_drafts));
    candidates.push_back({&sequence.acceptance(), jobs[i].max_drafts});
    --other_rows;
  }
  if (candidates.empty()) return;
  const int drafts = pace().width.ChooseDrafts(pace().costs, kind, candidates, other_rows);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (job_sequences[i]->request().speculation.automatic) {
      jobs[i].max_drafts = std::min(jobs[i].max_drafts, drafts);
    }
  }
  // A sequence alone keeps its head: its text may become predictable. In a batch, others will see.
  constexpr int64_t kRoundsOfALook = 8;
  if (kind != SpeculationKind::kMtp || !pace().width.gave_up() || plan->planned().size() < 2)
    return;
  for (size_t i = 0; i < jobs.size(); ++i) {
    RunningSequence& sequence = *job_sequences[i];
    if (!MayStopDrafting(sequence) || sequence.num_rounds() < kRoundsOfALook) continue;
    sequence.StopDrafting();
    jobs[i].max_drafts = 0;
  }
}

bool Engine::Impl::MayStopDrafting(const RunningSequence& sequence) {
  const Request& request = sequence.request();
  return request.speculation.automatic && request.conversation == kNoConversation;
}

void Engine::Impl::RetireEnded() {
  const auto retire = [this](std::unique_ptr<RunningSequence>& sequence) {
    if (!sequence->ended()) return;
    EndRequest(*sequence);
    finished.emplace(sequence->id(), sequence->TakeResult());
    sequence.reset();
  };
  std::ranges::for_each(running, retire);
  std::ranges::for_each(ready, retire);
  std::erase(running, nullptr);
  std::erase(ready, nullptr);
}

}  // namespace verbatim
