// Kept states and those who run beside them: conversations, waiting requests, evictions at the
// worst moment. Not the requests that have their bytes under all of it at once (batching_test.cc).
#include <gtest/gtest.h>

#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

using Ids = std::vector<int32_t>;

EngineOptions Options(int64_t context) {
  return {.model = NanoModel().string(),
          .with_mtp = true,
          .num_threads = 2,
          .context = context,
          .max_sequences = 2,
          .prefix_cache_memory = int64_t{64} << 20};
}

std::unique_ptr<Engine> Load(const EngineOptions& options) {
  auto engine = Engine::Load(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

Ids Tokens(uint32_t seed, int count) {
  Ids ids;
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    ids.push_back(static_cast<int32_t>((seed >> 8) % 400 + 10));
  }
  return ids;
}

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Request Ask(Ids prompt, int64_t max_tokens, SpeculationKind kind = SpeculationKind::kOff) {
  Request request;
  request.prompt_token_ids = std::move(prompt);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.logits_digest = true;
  request.speculation = {.kind = kind, .draft_tokens = 7};
  return request;
}

void ExpectCold(Engine& engine, Request request, const Result& result) {
  request.use_prefix_cache = false;
  request.conversation = kNoConversation;
  request.speculation = {};
  const Result cold = *engine.Generate(std::move(request));
  EXPECT_EQ(result.token_ids, cold.token_ids);
  EXPECT_EQ(result.logits_sha256, cold.logits_sha256);
}

// A conversation that goes back writes into the pages of what it drops: nobody may share them.
TEST(KeptStates, AConversationThatGoesBackTouchesNobody) {
  for (const SpeculationKind kind : {SpeculationKind::kOff, SpeculationKind::kMtp}) {
    EngineOptions options = Options(1500);
    options.max_conversations = 1;
    const auto engine = Load(options);
    const ConversationId conversation = *engine->OpenConversation();
    Request first = Ask(Tokens(1, 300), 300, kind);
    first.conversation = conversation;
    const Result said = *engine->Generate(first);
    // A neighbour that goes on from the same tokens is under way when the conversation goes back.
    const Ids known = first.prompt_token_ids + said.token_ids;
    const Request beside = Ask(known + Tokens(9, 5), 60, kind);
    (void)*engine->Generate(Ask(known, 1, kind));
    const RequestId id = *engine->Submit(beside);
    engine->Step();
    Request back = Ask(first.prompt_token_ids + Tokens(7, 300), 20, kind);
    back.conversation = conversation;
    const RequestId back_id = *engine->Submit(back);
    while (engine->Step()) {
    }
    ExpectCold(*engine, beside, *engine->TakeResult(id));
    ExpectCold(*engine, back, *engine->TakeResult(back_id));
    const Request after = Ask(known + Tokens(11, 7), 20, kind);
    ExpectCold(*engine, after, *engine->Generate(after));
  }
}

// The page that the head's next row needs may have to come from the very state that is restored.
TEST(KeptStates, ARestoredStateIsNotEvictedWhileItIsRead) {
  EngineOptions options = Options(1020);
  const EngineInfo info = Load(options)->info();
  options.kv_memory = 4 * info.kv_page_bytes;
  options.prefix_cache_memory = 2 * (info.kept_state_bytes + info.kv_page_bytes);
  for (const int size : {251, 252, 253, 254, 255, 256}) {
    const auto engine = Load(options);
    const Request kept = Ask(Tokens(1, size), 1, SpeculationKind::kMtp);
    (void)*engine->Generate(kept);
    Request large = Ask(Tokens(2, 800), 200, SpeculationKind::kMtp);
    large.use_prefix_cache = false;
    (void)*engine->Submit(large);
    for (int i = 0; i < 8; ++i) engine->Step();
    const Request next = Ask(kept.prompt_token_ids + Ids{9}, 10, SpeculationKind::kMtp);
    const RequestId id = *engine->Submit(next);
    while (engine->Step()) {
    }
    ExpectCold(*engine, next, *engine->TakeResult(id));
  }
}

// Who waits for a state that another one computes holds up nobody else.
TEST(KeptStates, OthersAreLetPastWhoWaitsForAState) {
  EngineOptions options = Options(3000);
  options.prefill_chunk = 64;
  options.max_sequences = 4;
  const auto engine = Load(options);
  const Request large = Ask(Tokens(1, 2500), 2);
  (void)*engine->Submit(large);
  engine->Step();
  const RequestId same = *engine->Submit(large);
  const RequestId small = *engine->Submit(Ask(Tokens(5, 8), 1));
  engine->Step();
  EXPECT_TRUE(engine->TakeResult(small).ok());
  while (engine->Step()) {
  }
  EXPECT_GT(engine->TakeResult(same)->cached_prompt_tokens, 0);
}

// A state without the head's rows is replaced by one that has them as soon as somebody drafts.
TEST(KeptStates, WhoDraftsIsNotHeldBackByWhoDoesNot) {
  const auto engine = Load(Options(1000));
  const Ids shared = Tokens(1, 300);
  const auto ask = [&](uint32_t seed, const SpeculationOptions& speculation) {
    Request request = Ask(shared + Tokens(seed, 4), 24);
    request.cache_points = {300};
    request.speculation = speculation;
    return *engine->Generate(request);
  };
  EXPECT_EQ(ask(2, {}).cached_prompt_tokens, 0);
  const SpeculationOptions automatic = {.kind = SpeculationKind::kMtp, .automatic = true};
  const Result drafting = ask(3, automatic);
  EXPECT_EQ(drafting.cached_prompt_tokens, 0);
  EXPECT_GT(drafting.speculation.drafted, 0);
  EXPECT_EQ(ask(4, {.kind = SpeculationKind::kMtp, .draft_tokens = 3}).cached_prompt_tokens, 300);
  EXPECT_EQ(ask(5, {}).cached_prompt_tokens, 300);
}

// The head's rows that an ended answer leaves are those of a cold pass: the next turn's drafts are
// as good.
TEST(KeptStates, TheNextTurnDraftsAsAColdOne) {
  const auto engine = Load(Options(1000));
  const Ids text = LoadPrompts(NanoModel())[0].ids;
  for (int tokens = 8; tokens < 48; tokens += 2) {
    Request request = Ask(Ids{10 + tokens} + text, tokens, SpeculationKind::kMtp);
    request.speculation.draft_tokens = 15;
    const Result first = *engine->Generate(request);
    request.prompt_token_ids = request.prompt_token_ids + first.token_ids;
    request.max_tokens = 24;
    const Result warm = *engine->Generate(request);
    request.use_prefix_cache = false;
    const Result cold = *engine->Generate(request);
    EXPECT_GT(warm.cached_prompt_tokens, 0);
    EXPECT_EQ(warm.speculation.rounds, cold.speculation.rounds) << tokens;
    EXPECT_EQ(warm.speculation.accepted_at, cold.speculation.accepted_at) << tokens;
  }
}

// Kept states go where that makes room, not where it can't.
TEST(KeptStates, NothingIsEvictedInVain) {
  EngineOptions options = Options(2000);
  options.max_sequences = 6;
  const EngineInfo info = Load(options)->info();
  options.kv_memory = 17 * info.kv_page_bytes;
  options.prefix_cache_memory = 5 * (info.kept_state_bytes + info.kv_page_bytes);
  const auto engine = Load(options);
  for (uint32_t i = 0; i < 4; ++i) (void)*engine->Generate(Ask(Tokens(10 + i, 40), 2));
  ASSERT_EQ(engine->stats().cache_entries, 4);
  std::vector<RequestId> ids;
  for (uint32_t i = 0; i < 6; ++i) {  // of eight pages each
    Request request = Ask(Tokens(i, 1800), 150);
    request.use_prefix_cache = false;
    ids.push_back(*engine->Submit(request));
  }
  int64_t steps_of_waiting = 0;
  for (bool more = true; more;) {
    more = engine->Step();
    const EngineStats stats = engine->stats();
    if (stats.waiting == 0 || stats.preemptions > 0) continue;
    ++steps_of_waiting;
    EXPECT_EQ(stats.cache_entries, 4);
  }
  EXPECT_GT(steps_of_waiting, 3);
  for (const RequestId id : ids) EXPECT_EQ(engine->TakeResult(id)->token_ids.size(), 150U);
}

}  // namespace
}  // namespace verbatim::testing
