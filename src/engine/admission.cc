// States in and out: which requests run, what they begin from, who gives way when pages run out,
// and what is kept for others. Changes when something is computed, never what.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "engine/engine_impl.h"

namespace verbatim {
namespace {

// Shorter prefixes are computed faster than they are copied.
constexpr int64_t kLeastKeptTokens = 16;
// Requests that others are let past at a time, since each is looked at in every step.
constexpr size_t kMostPassed = 64;

}  // namespace

Expected<int> Engine::Impl::AcquireSlot() {
  auto slot = recurrent->Acquire();
  while (!slot.ok() && EvictIdle(nullptr)) slot = recurrent->Acquire();
  return slot;
}

bool Engine::Impl::FreeSome(const Conversation* owner, const PrefixCache::Entry* entry) {
  return (prefix_cache != nullptr && prefix_cache->EvictOldest(entry)) || EvictIdle(owner);
}

int64_t Engine::Impl::FreeablePages(const Conversation* owner, const PrefixCache::Entry* entry) {
  int64_t pages = kv->num_free_pages();
  if (prefix_cache != nullptr) pages += prefix_cache->FreeablePages(entry);
  for (const auto& [id, conversation] : conversations) {
    if (&conversation != owner) pages += static_cast<int64_t>(conversation.state.pages.size());
  }
  return pages;
}

Status Engine::Impl::GrowPages(int64_t num_tokens, const Conversation* owner,
                               std::vector<int32_t>& pages, const PrefixCache::Entry* spared) {
  const int64_t num_slots = num_tokens + kSlotsBeyondContext;
  Status status = kv->Grow(num_slots, pages);
  if (status.ok()) return status;
  // Nothing is given up in vain.
  const int64_t missing = KvCache::PagesOf(num_slots) - static_cast<int64_t>(pages.size());
  if (missing > FreeablePages(owner, spared)) return status;
  while (!status.ok() && FreeSome(owner, spared)) status = kv->Grow(num_slots, pages);
  return status;
}

Expected<SequenceState> Engine::Impl::AcquireState(int64_t num_tokens) {
  SequenceState state;
  VERBATIM_ASSIGN_OR_RETURN(state.recurrent_slot, AcquireSlot());
  return WithPages(num_tokens, std::move(state));
}

Expected<SequenceState> Engine::Impl::WithPages(int64_t num_tokens, SequenceState state) {
  if (Status status = GrowPages(num_tokens, nullptr, state.pages); !status.ok()) {
    ReleaseState(state);
    return status;
  }
  return state;
}

Expected<SequenceState> Engine::Impl::StateFor(RunningSequence& sequence, int64_t num_tokens) {
  const Request& request = sequence.request();
  Conversation* own = FindConversation(request.conversation);
  if (own != nullptr && own->has_state()) {
    VERBATIM_RETURN_IF_ERROR(GrowPages(num_tokens, own, own->state.pages));
    SequenceState state = std::exchange(own->state, {});
    Rewind(*own, request, state);
    return state;
  }
  SequenceState state;
  VERBATIM_ASSIGN_OR_RETURN(state.recurrent_slot, AcquireSlot());
  RestoreKept(sequence, state);
  return WithPages(num_tokens, std::move(state));
}

bool Engine::Impl::UsesPrefixCache(const Request& request) const {
  return prefix_cache != nullptr && request.use_prefix_cache &&
         request.conversation == kNoConversation;
}

void Engine::Impl::RestoreKept(RunningSequence& sequence, SequenceState& state) {
  if (!UsesPrefixCache(sequence.request())) return;
  const std::span<const int32_t> known = sequence.tokens();
  // A state without the head's rows is of no use to who drafts with it (StartDrafting has decided
  // that): what it computes then replaces that state, for all who come later.
  const bool mtp = sequence.drafter() == SpeculationKind::kMtp;
  const PrefixCache::Entry* entry = prefix_cache->Find(known, mtp);
  if (entry == nullptr) return;
  Status status = prefix_cache->Restore(*entry, state);
  while (!status.ok() && FreeSome(nullptr, entry)) status = prefix_cache->Restore(*entry, state);
  if (!status.ok()) return;
  // The head's last row took the token that followed then; now another one may. It writes behind
  // the kept pages.
  if (!mtp) {
    state.num_draft_rows = 0;
  } else if (GrowPages(state.num_consumed + 1, nullptr, state.pages, entry).ok()) {
    mtp_drafter->AppendRow(state, known[state.num_consumed], prefix_cache->Hidden(*entry));
  } else {
    kv->Release(state.pages);
    recurrent->Clear(state.recurrent_slot);
    state.num_consumed = state.num_draft_rows = 0;
  }
}

void Engine::Impl::ReleaseState(SequenceState& state) {
  kv->Release(state.pages);
  if (state.recurrent_slot >= 0) recurrent->Release(state.recurrent_slot);
  state.recurrent_slot = -1;
}

Expected<std::unique_ptr<RunningSequence>> Engine::Impl::MakeSequence(
    const WaitingRequest& waiting_request) {
  const Request& request = waiting_request.request;
  SequenceParts parts;
  if (request.want_text || !request.stop.empty()) {
    auto stream = TextStream::Create(tokenizer, request.stop);
    VERBATIM_CHECK(stream.ok());  // CheckRequest saw the stop strings
    parts.text = *std::move(stream);
  }
  if (!request.sampling.banned_strings.empty()) {
    // The choices of a request come one behind the other.
    const std::vector<std::string>& strings = request.sampling.banned_strings;
    if (!banned_strings || BannedStrings::StringsOf(*banned_strings) != strings) {
      banned_strings = BannedStrings::Compile(tokenizer, strings);
    }
    parts.banned.emplace(banned_strings);
  }
  if (request.compiled_constraint) {
    VERBATIM_ASSIGN_OR_RETURN(
        parts.constraint,
        ConstraintState::Start(*request.compiled_constraint, request.constraint.begin_after,
                               info.eos_token_ids));
  }
  return std::make_unique<RunningSequence>(waiting_request.id, request, waiting_request.submitted,
                                           SequenceLimits{.context = options.context,
                                                          .vocab_size = info.vocab_size,
                                                          .num_choosable = num_choosable,
                                                          .eos_token_ids = info.eos_token_ids},
                                           std::move(parts));
}

void Engine::Impl::Admit() {
  const auto has_room = [this] { return static_cast<int>(running.size()) < options.max_sequences; };
  while (!ready.empty() && has_room()) {
    if (!Start(ready.front())) return;  // waits until a running sequence gives its pages back
    ready.pop_front();
  }
  for (size_t passed = 0; passed < std::min(waiting.size(), kMostPassed) && has_room();) {
    const auto at = waiting.begin() + static_cast<std::ptrdiff_t>(passed);
    WaitingRequest& next = *at;
    if (IsBeingComputed(next.request)) {
      ++passed;
      continue;
    }
    Expected<std::unique_ptr<RunningSequence>> made = std::unique_ptr<RunningSequence>();
    try {
      made = MakeSequence(next);
    } catch (const std::bad_alloc&) {
      made = OutOfMemory(next.request);
    }
    if (made.ok()) {
      StartDrafting(**made);
      ready.push_back(*std::move(made));
    } else {
      FailWaiting(next, made.status());
    }
    waiting.erase(at);
    if (!ready.empty() && !Start(ready.front())) return;
    ready.clear();  // what started is null
  }
}

// Somebody is about to reach a state that this prompt begins with: with a little patience it need
// not be computed twice. Answers of one prompt, and users of one system message, come together.
bool Engine::Impl::IsBeingComputed(const Request& request) {
  if (!UsesPrefixCache(request)) return false;
  const std::span<const int32_t> prompt = request.prompt_token_ids;
  const bool mtp = request.speculation.kind == SpeculationKind::kMtp &&
                   !(request.speculation.automatic && PaceOf(running.size() + 1).width.gave_up());
  int64_t longest = 0;
  for (const std::unique_ptr<RunningSequence>& sequence : running) {
    if (!sequence->in_prompt() || !UsesPrefixCache(sequence->request())) continue;
    // The head's rows are part of what is kept.
    if (mtp && sequence->drafter() != SpeculationKind::kMtp) continue;
    const int64_t point = sequence->NextCachePoint(static_cast<int64_t>(prompt.size()) - 1);
    if (point > longest &&
        std::ranges::equal(prompt.first(point), sequence->tokens().first(point))) {
      longest = point;
    }
  }
  if (longest < kLeastKeptTokens) return false;
  const PrefixCache::Entry* kept = prefix_cache->Find(prompt, mtp);
  return kept == nullptr || static_cast<int64_t>(kept->tokens.size()) < longest;
}

Status Engine::Impl::OutOfMemory(const Request& request) {
  return MakeError(StatusCode::kResourceExhausted, "request",
                   fmt::format("memory for {} tokens", request.prompt_token_ids.size() +
                                                           static_cast<size_t>(request.max_tokens)),
                   "a failed allocation", "a smaller max_tokens");
}

void Engine::Impl::FailWaiting(const WaitingRequest& request, Status error) {
  if (Conversation* own = FindConversation(request.request.conversation)) {
    own->busy = false;
    DropState(*own);
  }
  Result result;
  result.finish_reason = FinishReason::kError;
  result.error = std::move(error);
  finished.emplace(request.id, std::move(result));
}

bool Engine::Impl::Start(std::unique_ptr<RunningSequence>& sequence) {
  const bool first = !sequence->started();
  // All that is known and the next block; more as it grows.
  auto state = StateFor(*sequence, NeededTokens(*sequence, sequence->tokens().size()));
  if (!state.ok()) return false;
  sequence->Resume(*std::move(state));
  if (first) NotePrompt(*sequence);
  running.push_back(std::move(sequence));
  return true;
}

void Engine::Impl::StartDrafting(RunningSequence& sequence) {
  const SpeculationKind kind = sequence.drafter();
  if (kind == SpeculationKind::kOff || !sequence.request().speculation.automatic) return;
  sequence.StartAcceptance(shared_acceptance[static_cast<size_t>(kind)]);
  const size_t num_sequences = running.size() + 1;
  WidthController& width = PaceOf(num_sequences).width;
  if (kind == SpeculationKind::kMtp && MayStopDrafting(sequence) && width.gave_up() &&
      !width.LooksAgain(num_sequences)) {
    sequence.StopDrafting();
  }
}

int64_t Engine::Impl::NeededTokens(const RunningSequence& sequence, int64_t num_consumed) {
  return std::min(num_consumed + kMaxDraftTokens + 1, sequence.most_tokens());
}

void Engine::Impl::NotePrompt(RunningSequence& sequence) {
  if (!UsesPrefixCache(sequence.request())) return;
  const std::vector<int32_t>& prompt = sequence.request().prompt_token_ids;
  const auto size = static_cast<int64_t>(prompt.size());
  const int64_t consumed = sequence.state.num_consumed;
  prefix_cache->CountQuery(size, consumed);
  const auto add = [&](int64_t point) {
    point = std::min(point, size - 1);
    if (point >= std::max(kLeastKeptTokens, consumed + 1)) sequence.AddCachePoint(point);
  };
  add((size - 1) / ops::kPageSlots * ops::kPageSlots);
  // Two prompts that part at a place will be followed by more that do.
  const int64_t shared = history.LongestShared(prompt);
  if (shared >= consumed + kLeastKeptTokens) add(shared);
  history.Add(prompt);
}

void Engine::Impl::MakeRoom() {
  // The oldest first, who gives way last: it always gets on, so all do in the end.
  std::ranges::sort(running, {}, [](const auto& sequence) { return sequence->id(); });
  for (size_t i = 0; i < running.size();) {
    RunningSequence& sequence = *running[i];
    const int64_t consumed = sequence.state.num_consumed + sequence.NumNextRows(step_rows);
    const Status status =
        GrowPages(NeededTokens(sequence, consumed), nullptr, sequence.state.pages);
    if (status.ok()) {
      ++i;
      continue;
    }
    VERBATIM_CHECK(running.size() > 1);  // one sequence always fits
    Preempt();
  }
}

void Engine::Impl::Preempt() {
  std::unique_ptr<RunningSequence> youngest = std::move(running.back());
  running.pop_back();
  // A conversation's second state lies in the same pages.
  if (Conversation* own = FindConversation(youngest->request().conversation)) DropState(*own);
  ReleaseState(youngest->state);
  youngest->Preempt();
  ++counts.preemptions;
  ready.push_front(std::move(youngest));
}

bool Engine::Impl::IsWorthKeeping(const RunningSequence& sequence) const {
  return UsesPrefixCache(sequence.request()) && !sequence.failed() &&
         (sequence.AtCachePoint() || (sequence.ended() && !sequence.in_prompt())) &&
         sequence.state.num_consumed >= kLeastKeptTokens;
}

// After the draft head ran, so that its rows of the last page are there.
void Engine::Impl::KeepForOthers() {
  for (const PlannedRows& planned : plan->planned()) {
    RunningSequence& sequence = *planned.sequence;
    if (!IsWorthKeeping(sequence)) continue;
    SequenceState& state = sequence.state;
    if (state.num_accepted_drafts > 0) {
      recurrent->Fold(state.recurrent_slot, state.num_accepted_drafts);
      state.num_accepted_drafts = 0;
    }
    const bool mtp = sequence.drafter() == SpeculationKind::kMtp;
    const int32_t row = planned.first_row + sequence.num_accepted_rows() - 1;
    prefix_cache->Insert(sequence.tokens().first(state.num_consumed), state,
                         model->hidden() + row * info.hidden_size,
                         mtp ? state.num_consumed - 1 : 0);
  }
}

}  // namespace verbatim
