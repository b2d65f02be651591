// Conversations: keeping a request's state for the next one, going back in it, giving it up. Not
// admission (scheduler.cc).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/engine_impl.h"

namespace verbatim {

Expected<ConversationId> Engine::Impl::OpenConversation() {
  std::vector<bool> used(options.max_conversations);
  for (const auto& [id, conversation] : conversations) used[conversation.index] = true;
  const auto free = std::ranges::find(used, false);
  if (free == used.end()) {
    return MakeError(StatusCode::kResourceExhausted, "conversation",
                     fmt::format("fewer than {} open conversations", used.size()),
                     fmt::format("{}", conversations.size()),
                     "CloseConversation, or a larger EngineOptions::max_conversations");
  }
  const ConversationId id = next_conversation++;
  conversations[id].index = static_cast<int>(free - used.begin());
  return id;
}

Status Engine::Impl::CloseConversation(ConversationId id) {
  Conversation* conversation = FindConversation(id);
  if (conversation == nullptr) {
    return MakeError(StatusCode::kNotFound, "conversation id", "an open conversation",
                     fmt::format("{}", id));
  }
  DropState(*conversation);
  conversations.erase(id);
  return {};
}

Status Engine::Impl::CheckConversation(const Request& request) const {
  const int64_t prompt_size = static_cast<int64_t>(request.prompt_token_ids.size());
  const int64_t most = request.conversation == kNoConversation ? 0 : prompt_size;
  if (request.keep_prefix < 0 || request.keep_prefix > most) {
    return MakeError(StatusCode::kInvalidArgument, "keep_prefix", fmt::format("0 to {}", most),
                     fmt::format("{}", request.keep_prefix));
  }
  if (request.conversation == kNoConversation) return {};
  const auto it = conversations.find(request.conversation);
  if (it == conversations.end()) {
    return MakeError(StatusCode::kNotFound, "conversation id", "an open conversation",
                     fmt::format("{}", request.conversation));
  }
  if (!it->second.busy) return {};
  return MakeError(StatusCode::kInvalidArgument, "conversation",
                   "one request of a conversation at a time", "a second one",
                   "to take the first one's result before");
}

Conversation* Engine::Impl::FindConversation(ConversationId id) {
  const auto it = conversations.find(id);
  return it == conversations.end() ? nullptr : &it->second;
}

void Engine::Impl::DropState(Conversation& conversation) {
  if (conversation.has_state()) ReleaseState(conversation.state);
  if (conversation.kept_slot >= 0) recurrent->Release(conversation.kept_slot);
  conversation.state = {};
  conversation.tokens.clear();
  conversation.kept_tokens = 0;
  conversation.kept_slot = -1;
}

bool Engine::Impl::EvictIdle(const Conversation* except) {
  Conversation* oldest = nullptr;
  for (auto& [id, conversation] : conversations) {
    if (&conversation == except || !conversation.has_state()) continue;
    if (oldest == nullptr || conversation.last_use < oldest->last_use) oldest = &conversation;
  }
  if (oldest == nullptr) return false;
  DropState(*oldest);
  return true;
}

float* Engine::Impl::ConversationHidden(const Conversation& conversation, bool kept) {
  const int64_t row = 2 * conversation.index + (kept ? 1 : 0);
  return conversation_hidden->As<float>() + row * info.hidden_size;
}

void Engine::Impl::CopyHidden(const float* rows, int32_t row, const Conversation& conversation,
                              bool kept) {
  backend->GatherRows({.x = rows,
                       .x_stride = info.hidden_size,
                       .rows = {&row, 1},
                       .width = info.hidden_size,
                       .out = ConversationHidden(conversation, kept),
                       .out_stride = info.hidden_size});
  backend->Synchronize();  // `row` is read until then
}

void Engine::Impl::Rewind(Conversation& conversation, const Request& request,
                          SequenceState& state) {
  const std::vector<int32_t>& prompt = request.prompt_token_ids;
  const std::vector<int32_t>& tokens = conversation.tokens;
  const int64_t common = std::ranges::mismatch(tokens, prompt).in1 - tokens.begin();
  const bool mtp = request.speculation.kind == SpeculationKind::kMtp;
  // The last prompt token is always computed, for its logits. A request that drafts with the head
  // needs all of the head's rows but the last; a request that did not draft left none.
  const auto usable = [&](int64_t num_tokens, int64_t num_draft_rows) {
    return num_tokens > 0 && num_tokens <= common &&
           num_tokens < static_cast<int64_t>(prompt.size()) &&
           (!mtp || num_draft_rows >= num_tokens - 1);
  };
  if (!usable(state.num_consumed, state.num_draft_rows)) {
    state.num_accepted_drafts = 0;
    if (usable(conversation.kept_tokens, conversation.kept_draft_rows)) {
      recurrent->Copy(conversation.kept_slot, state.recurrent_slot);
      state.num_consumed = conversation.kept_tokens;
      state.num_draft_rows = conversation.kept_draft_rows;
      if (mtp) CopyHidden(ConversationHidden(conversation, true), 0, conversation, false);
    } else {
      recurrent->Clear(state.recurrent_slot);
      state.num_consumed = 0;
      state.num_draft_rows = 0;
      conversation.kept_tokens = 0;  // its pages are about to be written anew
    }
  }
  if (state.num_consumed == 0) return;
  // The head's last row took the token that followed then; now another one may.
  state.num_draft_rows = std::min(state.num_draft_rows, state.num_consumed - 1);
  if (mtp) {
    mtp_drafter->AppendRow(state, prompt[state.num_consumed],
                           ConversationHidden(conversation, false));
  }
}

// After the rows were accepted and before the head runs over them.
void Engine::Impl::KeepAfterStep() {
  for (const PlannedRows& planned : plan->planned()) {
    const RunningSequence& sequence = *planned.sequence;
    Conversation* conversation = FindConversation(sequence.request().conversation);
    if (conversation == nullptr) continue;
    const SequenceState& state = sequence.state;
    const bool mtp = sequence.request().speculation.kind == SpeculationKind::kMtp;
    const int32_t row = planned.first_row + sequence.num_accepted_rows() - 1;
    if (mtp) CopyHidden(model->hidden(), row, *conversation, false);
    if (state.num_consumed != sequence.keep_at()) continue;
    if (conversation->kept_slot < 0) {
      const auto slot = recurrent->Acquire();
      if (!slot.ok()) continue;  // held by sequences: this time there is no second state
      conversation->kept_slot = *slot;
    }
    recurrent->Copy(state.recurrent_slot, conversation->kept_slot);
    conversation->kept_tokens = state.num_consumed;
    conversation->kept_draft_rows =
        mtp ? state.num_consumed - 1 : std::min(state.num_draft_rows, state.num_consumed - 1);
    if (mtp) CopyHidden(model->hidden(), row, *conversation, true);
  }
}

bool Engine::Impl::KeepsState(const RunningSequence& sequence) {
  return !sequence.failed() && FindConversation(sequence.request().conversation) != nullptr;
}

void Engine::Impl::EndRequest(RunningSequence& sequence) {
  Conversation* conversation = FindConversation(sequence.request().conversation);
  if (conversation == nullptr) return ReleaseState(sequence.state);
  conversation->busy = false;
  conversation->last_use = ++uses;
  if (sequence.state.recurrent_slot < 0) return;  // it never began, and took nothing along
  if (sequence.failed()) {
    ReleaseState(sequence.state);
    return DropState(*conversation);
  }
  conversation->state = std::exchange(sequence.state, {});
  const auto consumed = sequence.tokens().first(conversation->state.num_consumed);
  conversation->tokens.assign(consumed.begin(), consumed.end());
  kv->Shrink(conversation->state.num_consumed + kSlotsBeyondContext, conversation->state.pages);
}

}  // namespace verbatim
