// Conversations: a turn that goes on from kept state has the bytes of a cold run, whatever ended
// the turn before.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

constexpr int64_t kChunk = 64;

using Ids = std::vector<int32_t>;

struct NamedSpeculation {
  const char* name;
  SpeculationOptions options;
};

const std::vector<NamedSpeculation>& Speculations() {
  static const std::vector<NamedSpeculation> all = {
      {"off", {}},
      {"mtp 3", {.kind = SpeculationKind::kMtp, .draft_tokens = 3}},
      {"mtp 15", {.kind = SpeculationKind::kMtp, .draft_tokens = 15}},
      {"mtp auto", {.kind = SpeculationKind::kMtp, .draft_tokens = 15, .automatic = true}},
      {"ngram", {.kind = SpeculationKind::kNgram, .draft_tokens = 5}},
  };
  return all;
}

Ids operator+(Ids left, const Ids& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class ConversationTest : public ::testing::Test {
 protected:
  ConversationTest() {
    for (const Prompt& prompt : LoadPrompts(NanoModel())) text_ = text_ + prompt.ids;
  }

  static std::unique_ptr<Engine> Load(int max_sequences, int max_conversations, int max_rows = 0) {
    auto engine = Engine::Load({.model = NanoModel().string(),
                                .with_mtp = true,
                                .num_threads = 2,
                                .context = 1024,
                                .prefill_chunk = kChunk,
                                .max_sequences = max_sequences,
                                .max_conversations = max_conversations,
                                .max_rows = max_rows});
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return *std::move(engine);
  }

  // The next tokens of running text, as a user would type them.
  Ids Next(int64_t count) {
    const auto begin = text_.begin() + used_;
    used_ += count;
    return {begin, begin + count};
  }

  static Request Make(Ids prompt, int64_t max_tokens, const SpeculationOptions& speculation,
                      ConversationId conversation = kNoConversation) {
    Request request;
    request.prompt_token_ids = std::move(prompt);
    request.max_tokens = max_tokens;
    request.ignore_eos = true;
    request.want_text = false;
    request.logits_digest = true;
    request.speculation = speculation;
    request.conversation = conversation;
    return request;
  }

  // Runs the request, and the same cold on an engine of its own; both must agree in everything.
  Result Turn(Engine& engine, const Request& request) {
    auto warm = engine.Generate(request);
    EXPECT_TRUE(warm.ok()) << warm.status().message();
    if (warm.ok()) ExpectCold(request, *warm);
    return warm.ok() ? *warm : Result();
  }

  void ExpectCold(Request request, const Result& warm) {
    request.conversation = kNoConversation;
    request.keep_prefix = 0;
    const Result cold = *cold_->Generate(request);
    EXPECT_EQ(warm.token_ids, cold.token_ids);
    EXPECT_EQ(warm.logits_sha256, cold.logits_sha256);
    if (request.speculation.automatic) return;  // its widths depend on measured times
    if (blocks_are_cut_) return;
    // The head's cache shows in what it drafts.
    EXPECT_EQ(warm.speculation.rounds, cold.speculation.rounds);
    EXPECT_EQ(warm.speculation.tested_at, cold.speculation.tested_at);
    EXPECT_EQ(warm.speculation.accepted_at, cold.speculation.accepted_at);
  }

  std::unique_ptr<Engine> cold_ = Load(1, 0);
  Ids text_;
  int64_t used_ = 0;
  bool blocks_are_cut_ = false;  // the warm engine has too few rows for them
};

// New parts of chunk - 1, chunk and chunk + 1 tokens and more; the conversation grows over several
// KV pages. By turns, the next prompt has the last sampled token or another in its place.
TEST_F(ConversationTest, TurnsHaveTheBytesOfColdRuns) {
  for (const auto& [name, speculation] : Speculations()) {
    SCOPED_TRACE(name);
    used_ = 0;
    const auto engine = Load(1, 1);
    const ConversationId id = *engine->OpenConversation();
    Ids prompt;
    int64_t consumed = 0;
    int turn = 0;
    for (const int64_t length :
         {kChunk + 1, kChunk, kChunk - 1, int64_t{1}, 2 * kChunk + 1, int64_t{2}, int64_t{7}}) {
      SCOPED_TRACE(turn);
      prompt = prompt + Next(length);
      const Result result = Turn(*engine, Make(prompt, Sampled(61, 29) + turn, speculation, id));
      EXPECT_EQ(result.cached_prompt_tokens, consumed);
      prompt = prompt + result.token_ids;
      if (turn % 2 == 1) prompt.back() = (prompt.back() + 1) % 1000;
      consumed = static_cast<int64_t>(prompt.size()) - 1;
      ++turn;
    }
    EXPECT_GT(prompt.size(), Sampled(3, 2) * 256u);
  }
}

TEST_F(ConversationTest, AnotherAnswerGoesBackToTheKeptPrefix) {
  for (const auto& [name, speculation] : Speculations()) {
    SCOPED_TRACE(name);
    used_ = 0;
    const auto engine = Load(1, 1);
    const ConversationId id = *engine->OpenConversation();
    Ids history;
    for (int turn = 0; turn < 4; ++turn) {
      SCOPED_TRACE(turn);
      const int64_t kept = static_cast<int64_t>(history.size()) - 9;  // of the turn before
      history = history + Next(100 + turn);
      // As Qwen's templates do it: the head of the answer's turn holds an opened thought, which the
      // history then leaves out together with its end.
      Request request = Make(history + Ids{7, 8, 9}, 50, speculation, id);
      request.keep_prefix = static_cast<int64_t>(history.size());
      const Result result = Turn(*engine, request);
      EXPECT_EQ(result.cached_prompt_tokens, turn == 0 ? 0 : kept);
      history = history + Ids{7} + Ids(result.token_ids.end() - 8, result.token_ids.end());
    }
  }
}

TEST_F(ConversationTest, TheSamePromptAgainGoesBackToo) {
  for (const auto& [name, speculation] : Speculations()) {
    SCOPED_TRACE(name);
    used_ = 0;
    const auto engine = Load(1, 1);
    const ConversationId id = *engine->OpenConversation();
    Request request = Make(Next(150), 40, speculation, id);
    request.keep_prefix = 149;
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(Turn(*engine, request).cached_prompt_tokens, turn == 0 ? 0 : 149);
    }
  }
}

TEST_F(ConversationTest, WhatIsNoPrefixRunsCold) {
  const SpeculationOptions mtp = Speculations()[1].options;
  const auto engine = Load(1, 1);
  const ConversationId id = *engine->OpenConversation();
  const Ids first = Next(200);
  Turn(*engine, Make(first, 20, mtp, id));
  Ids other = first;
  other[100] = (other[100] + 1) % 1000;
  EXPECT_EQ(Turn(*engine, Make(other + Next(50), 20, mtp, id)).cached_prompt_tokens, 0);
  // A prefix of what was consumed: no state is there.
  other.resize(150);
  EXPECT_EQ(Turn(*engine, Make(other, 20, mtp, id)).cached_prompt_tokens, 0);
  EXPECT_EQ(Turn(*engine, Make(other + Next(5), 20, mtp, id)).cached_prompt_tokens, 150);
}

TEST_F(ConversationTest, CancelInTheAnswerThenGoOn) {
  for (const auto& [name, speculation] : Speculations()) {
    for (const int after : {1, 2, 13, 30}) {
      SCOPED_TRACE(std::string(name) + " after " + std::to_string(after));
      used_ = 0;
      const auto engine = Load(1, 1);
      const ConversationId id = *engine->OpenConversation();
      const Ids prompt = Next(70);
      RequestId running = 0;
      int count = 0;
      Request request = Make(prompt, 60, speculation, id);
      request.on_token = [&](const TokenEvent&) {
        if (++count != after) return;
        EXPECT_TRUE(engine->Cancel(running).ok());
      };
      running = *engine->Submit(request);
      while (engine->Step()) {
      }
      const Result cut = *engine->TakeResult(running);
      EXPECT_EQ(cut.finish_reason, FinishReason::kCancelled);
      ASSERT_EQ(cut.token_ids.size(), static_cast<size_t>(after));
      const Ids next = prompt + cut.token_ids + Next(40);
      EXPECT_EQ(Turn(*engine, Make(next, 40, speculation, id)).cached_prompt_tokens,
                70 + after - 1);
    }
  }
}

TEST_F(ConversationTest, CancelBetweenStepsThenGoOn) {
  for (const auto& [name, speculation] : Speculations()) {
    for (const int steps : {1, 2, 4, 7}) {  // the prompt takes three
      SCOPED_TRACE(std::string(name) + " after steps " + std::to_string(steps));
      used_ = 0;
      const auto engine = Load(1, 1);
      const ConversationId id = *engine->OpenConversation();
      const Ids prompt = Next(2 * kChunk + 10);
      const RequestId running = *engine->Submit(Make(prompt, 60, speculation, id));
      for (int i = 0; i < steps; ++i) engine->Step();
      ASSERT_TRUE(engine->Cancel(running).ok());
      while (engine->Step()) {
      }
      const Result cut = *engine->TakeResult(running);
      Ids next = prompt + cut.token_ids + Next(40);
      // The state stands in the middle of the prompt; another token follows there.
      if (steps < 3) next[steps * kChunk] = (next[steps * kChunk] + 1) % 1000;
      const int64_t expected = steps < 3
                                   ? steps * kChunk
                                   : static_cast<int64_t>(prompt.size() + cut.token_ids.size()) - 1;
      EXPECT_EQ(Turn(*engine, Make(next, 40, speculation, id)).cached_prompt_tokens, expected);
    }
  }
}

// Two conversations in shared steps, each ending now and then by the other's callback, when its own
// rows of the step are not accepted yet.
TEST_F(ConversationTest, NeighboursCancelEachOther) {
  for (const auto& [name, speculation] : Speculations()) {
    for (const bool in_prompt : {false, true}) {
      SCOPED_TRACE(std::string(name) + (in_prompt ? " in the prompt" : " in the answer"));
      used_ = 0;
      const auto engine = Load(2, 2);
      const ConversationId first = *engine->OpenConversation();
      const ConversationId second = *engine->OpenConversation();
      const Ids first_prompt = Next(50);
      const Ids second_prompt = Next(in_prompt ? 9 * kChunk : 50);
      RequestId victim = 0;
      int count = 0;
      Request request = Make(first_prompt, 40, speculation, first);
      request.on_token = [&](const TokenEvent&) {
        if (++count != 5) return;
        EXPECT_TRUE(engine->Cancel(victim).ok());
      };
      const RequestId other = *engine->Submit(request);
      victim = *engine->Submit(Make(second_prompt, 40, speculation, second));
      while (engine->Step()) {
      }
      const Result cut = *engine->TakeResult(victim);
      EXPECT_EQ(cut.finish_reason, FinishReason::kCancelled);
      EXPECT_EQ(cut.token_ids.empty(), in_prompt);
      const Ids first_next = first_prompt + engine->TakeResult(other)->token_ids + Next(20);
      const Ids second_next = second_prompt + cut.token_ids + Next(30);
      const Request a = Make(first_next, 30, speculation, first);
      const Request b = Make(second_next, 30, speculation, second);
      const RequestId a_id = *engine->Submit(a);
      const RequestId b_id = *engine->Submit(b);
      while (engine->Step()) {
      }
      const Result a_result = *engine->TakeResult(a_id);
      const Result b_result = *engine->TakeResult(b_id);
      EXPECT_EQ(a_result.cached_prompt_tokens, 89);
      EXPECT_GT(b_result.cached_prompt_tokens, 0);
      ExpectCold(a, a_result);
      ExpectCold(b, b_result);
    }
  }
}

// Gone back to the kept prefix, and cancelled before a row of it ran: a neighbour's prompt took the
// whole step.
TEST_F(ConversationTest, CancelRightAfterGoingBack) {
  const SpeculationOptions mtp = Speculations()[1].options;
  blocks_are_cut_ = true;
  for (const int64_t length : {100, 101, 102, 103}) {
    SCOPED_TRACE(length);
    // Of two prompts, one has the step's one row, by turns; the victim has gone back and has none.
    const auto engine = Load(2, 2, 1);
    const ConversationId id = *engine->OpenConversation();
    const Ids prompt = Next(length);
    Turn(*engine, Make(prompt, 20, mtp, id));
    const RequestId neighbour = *engine->Submit(Make(Next(2 * kChunk), 5, mtp));
    do engine->Step();
    while (engine->stats().steps % 2 != 0);
    const RequestId victim = *engine->Submit(Make(prompt + Ids{7, 8}, 5, mtp, id));
    engine->Step();
    ASSERT_TRUE(engine->Cancel(victim).ok());
    while (engine->Step()) {
    }
    EXPECT_TRUE(engine->TakeResult(neighbour).ok());
    EXPECT_EQ(engine->TakeResult(victim)->cached_prompt_tokens, length);
    const Request next = Make(prompt + Next(1), 60, mtp, id);
    EXPECT_EQ(Turn(*engine, next).cached_prompt_tokens, length);
    used_ -= length + 2 * kChunk;
  }
}

// The head has no rows of turns without it: then the prompt is computed anew, never drafted from
// garbage.
TEST_F(ConversationTest, SpeculationMayChangeBetweenTurns) {
  const auto engine = Load(1, 1);
  const ConversationId id = *engine->OpenConversation();
  const auto& all = Speculations();
  Ids prompt;
  bool head_in_step = false;
  for (const size_t which : {0, 1, 2, 4, 1, 1, 0, 4, 0, 2, 1}) {
    SCOPED_TRACE(all[which].name);
    const bool mtp = all[which].options.kind == SpeculationKind::kMtp;
    prompt = prompt + Next(20);
    const Result result = Turn(*engine, Make(prompt, 30, all[which].options, id));
    EXPECT_EQ(result.cached_prompt_tokens > 0, prompt.size() > 20 && (!mtp || head_in_step));
    head_in_step = mtp;
    prompt = prompt + result.token_ids;
  }
}

TEST_F(ConversationTest, EvictionMakesRoomAndTheNextTurnRunsCold) {
  const SpeculationOptions mtp = Speculations()[1].options;
  const auto engine = Load(1, 2);
  const ConversationId a = *engine->OpenConversation();
  const ConversationId b = *engine->OpenConversation();
  const Ids prompt = Next(300);
  for (int turn = 0; turn < Sampled(3, 2); ++turn) {
    for (const ConversationId id : {a, b}) {  // 1000 tokens or 520, of room for 1024
      EXPECT_EQ(Turn(*engine, Make(prompt, Sampled(700, 220), mtp, id)).cached_prompt_tokens, 0);
    }
  }
  // No conversation, and a whole context: still no deadlock. Scoring needs room as well.
  Turn(*engine, Make(prompt, 2000, mtp));
  EXPECT_EQ(Turn(*engine, Make(prompt, 3, mtp, a)).cached_prompt_tokens, 0);
  EXPECT_TRUE(engine->Score({.token_ids = Ids(1024, 5)}).ok());
  EXPECT_EQ(Turn(*engine, Make(prompt + Next(2), 3, mtp, a)).cached_prompt_tokens, 0);
}

TEST_F(ConversationTest, ClosingGivesTheStateBackAlsoWhileARequestRuns) {
  const SpeculationOptions mtp = Speculations()[1].options;
  const auto engine = Load(1, 1);
  for (int round = 0; round < 4; ++round) {
    const ConversationId id = *engine->OpenConversation();
    EXPECT_EQ(engine->OpenConversation().status().code(), StatusCode::kResourceExhausted);
    const Request request = Make(Next(90), 20, mtp, id);
    const RequestId running = *engine->Submit(request);
    EXPECT_EQ(engine->Submit(request).status().code(), StatusCode::kInvalidArgument);  // busy
    for (int step = 0; step < round; ++step) engine->Step();
    if (round % 2 == 1) {
      EXPECT_TRUE(engine->CloseConversation(id).ok());
    }
    while (engine->Step()) {
    }
    ExpectCold(request, *engine->TakeResult(running));
    EXPECT_EQ(engine->CloseConversation(id).ok(), round % 2 == 0);
    EXPECT_EQ(engine->Submit(request).status().code(), StatusCode::kNotFound);
  }
}

TEST_F(ConversationTest, RefusalsByName) {
  const auto engine = Load(1, 1);
  const ConversationId id = *engine->OpenConversation();
  const auto error = [&](Request request, int64_t keep_prefix) {
    request.keep_prefix = keep_prefix;
    return engine->Submit(request).status().message();
  };
  EXPECT_NE(error(Make({1, 2, 3}, 5, {}, id), 4).find("[keep_prefix]"), std::string::npos);
  EXPECT_NE(error(Make({1, 2, 3}, 5, {}, id), -1).find("[keep_prefix]"), std::string::npos);
  EXPECT_NE(error(Make({1, 2, 3}, 5, {}), 1).find("[keep_prefix]"), std::string::npos);
  EXPECT_NE(error(Make({1, 2, 3}, 5, {}, 99), 0).find("99"), std::string::npos);
  // A waiting request that is cancelled leaves the conversation free.
  const RequestId waiting = *engine->Submit(Make({1, 2, 3}, 5, {}, id));
  EXPECT_TRUE(engine->Cancel(waiting).ok());
  EXPECT_TRUE(engine->Submit(Make({1, 2, 3}, 5, {}, id)).ok());
  EXPECT_FALSE(Engine::Load({.model = NanoModel().string(), .max_conversations = -1}).ok());
}

}  // namespace
}  // namespace verbatim::testing
