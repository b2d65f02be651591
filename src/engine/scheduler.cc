// Admission, the step, and the end of requests.
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

Expected<RequestId> Engine::Impl::Submit(Request request) {
  VERBATIM_RETURN_IF_ERROR(CheckRequest(request));
  if (info.contract_held == ContractMode::kOff) request.speculation.kind = SpeculationKind::kOff;
  const RequestId id = next_id++;
  if (Conversation* own = FindConversation(request.conversation)) own->busy = true;
  waiting.emplace_back(id, std::move(request));
  return id;
}

Status Engine::Impl::Cancel(RequestId id) {
  for (const auto& sequence : running) {
    if (sequence->id() != id) continue;
    sequence->Cancel();  // retired by the step that runs or comes next
    return {};
  }
  const auto it = std::find_if(waiting.begin(), waiting.end(),
                               [id](const auto& entry) { return entry.first == id; });
  if (it == waiting.end()) return UnknownRequest(id);
  if (Conversation* own = FindConversation(it->second.conversation)) own->busy = false;
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

Expected<SequenceState> Engine::Impl::AcquireState(int64_t num_tokens) {
  SequenceState state;
  VERBATIM_RETURN_IF_ERROR(GrowPages(num_tokens, nullptr, state.pages));
  auto slot = recurrent->Acquire();
  while (!slot.ok() && EvictIdle(nullptr)) slot = recurrent->Acquire();
  if (!slot.ok()) {
    kv->Release(state.pages);
    return slot.status();
  }
  state.recurrent_slot = *slot;
  return state;
}

Status Engine::Impl::GrowPages(int64_t num_tokens, const Conversation* owner,
                               std::vector<int32_t>& pages) {
  Status status = kv->Grow(num_tokens + kSlotsBeyondContext, pages);
  while (!status.ok() && EvictIdle(owner)) {
    status = kv->Grow(num_tokens + kSlotsBeyondContext, pages);
  }
  return status;
}

Expected<SequenceState> Engine::Impl::StateFor(const Request& request, int64_t num_tokens) {
  Conversation* own = FindConversation(request.conversation);
  if (own == nullptr || !own->has_state()) return AcquireState(num_tokens);
  VERBATIM_RETURN_IF_ERROR(GrowPages(num_tokens, own, own->state.pages));
  SequenceState state = std::exchange(own->state, {});
  Rewind(*own, request, state);
  return state;
}

void Engine::Impl::ReleaseState(SequenceState& state) {
  kv->Release(state.pages);
  recurrent->Release(state.recurrent_slot);
}

std::unique_ptr<RunningSequence> Engine::Impl::MakeSequence(RequestId id, const Request& request,
                                                            const SequenceState& state) {
  std::optional<TextStream> text;
  if (request.want_text || !request.stop.empty()) {
    auto stream = TextStream::Create(tokenizer, request.stop);
    VERBATIM_CHECK(stream.ok());  // CheckRequest saw the stop strings
    text = *std::move(stream);
  }
  const SequenceLimits limits = {.context = options.context,
                                 .vocab_size = info.vocab_size,
                                 .num_choosable = num_choosable,
                                 .eos_token_ids = info.eos_token_ids};
  std::optional<BannedStrings> banned;
  if (!request.sampling.banned_strings.empty()) {
    banned.emplace(tokenizer, request.sampling.banned_strings);
  }
  return std::make_unique<RunningSequence>(id, request, state, limits, std::move(text),
                                           std::move(banned));
}

void Engine::Impl::Admit() {
  while (!waiting.empty() && static_cast<int>(running.size()) < options.max_sequences) {
    auto& [id, request] = waiting.front();
    const int64_t prompt_size = static_cast<int64_t>(request.prompt_token_ids.size());
    // Written so that a huge max_tokens can't overflow.
    const int64_t num_tokens =
        prompt_size + std::min(request.max_tokens, options.context - prompt_size);
    auto state = StateFor(request, num_tokens);
    if (!state.ok()) return;  // waits until a running sequence gives its pages back
    try {
      running.push_back(MakeSequence(id, request, *state));
    } catch (const std::bad_alloc&) {
      ReleaseState(*state);
      if (Conversation* own = FindConversation(request.conversation)) {
        own->busy = false;
        DropState(*own);
      }
      Result result;
      result.finish_reason = FinishReason::kError;
      result.error = MakeError(StatusCode::kResourceExhausted, "request",
                               fmt::format("memory for {} tokens", num_tokens),
                               "a failed allocation", "a smaller max_tokens");
      finished.emplace(id, std::move(result));
    }
    waiting.pop_front();
  }
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
  plan->Build(running);
  if (plan->empty()) {
    VERBATIM_CHECK(waiting.empty());  // one sequence always fits: CheckRequest saw to that
    return false;
  }
  for (const PlannedRows& planned : plan->planned()) planned.sequence->StartClock();
  RunPlan();
  KeepAfterStep();
  ProposeDrafts();
  RetireEnded();
  return true;
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
  if (plan->decode_only()) costs.AddStep(plan->num_rows(), SecondsSince(start));
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
    int most_drafts = 0;
    for (const PlannedRows& planned : plan->planned()) {
      RunningSequence& sequence = *planned.sequence;
      if (sequence.request().speculation.kind != kind) continue;
      // A conversation's head must not fall behind; only its last row waits for the next prompt.
      const bool ends = sequence.ended();
      const int num_rows = sequence.num_accepted_rows() - (ends ? 1 : 0);
      if (ends && (kind != SpeculationKind::kMtp || num_rows == 0 || !KeepsState(sequence))) {
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
                      .max_drafts = sequence.MaxDrafts(costs, plan->num_rows() - planned.num_rows),
                      .drafts = sequence.drafts.data()});
      job_sequences.push_back(&sequence);
      most_drafts = std::max(most_drafts, jobs.back().max_drafts);
    }
    if (jobs.empty()) continue;
    const auto start = RunningSequence::Clock::now();
    Drafter* drafter = list_drafters[static_cast<size_t>(kind)].get();
    if (kind == SpeculationKind::kMtp) drafter = mtp_drafter.get();
    drafter->Propose(jobs, model->hidden());
    if (plan->decode_only()) costs.AddDrafting(kind, most_drafts, SecondsSince(start));
    for (size_t i = 0; i < jobs.size(); ++i) job_sequences[i]->SetNumDrafts(jobs[i].num_drafts);
  }
}

void Engine::Impl::RetireEnded() {
  for (auto& sequence : running) {
    if (!sequence->ended()) continue;
    EndRequest(*sequence);
    finished.emplace(sequence->id(), sequence->TakeResult());
    sequence.reset();
  }
  std::erase(running, nullptr);
}

}  // namespace verbatim
