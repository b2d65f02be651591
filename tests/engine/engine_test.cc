// Engine: loading, refusals, queueing and scoring through the public API.
#include "verbatim/engine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/sha256.h"
#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

std::unique_ptr<Engine> LoadNano(EngineOptions options = {}) {
  options.model = NanoModel().string();
  auto engine = Engine::Load(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

std::string LoadError(const EngineOptions& options) {
  return Engine::Load(options).status().message();
}

TEST(Engine, SaysWhatItLoaded) {
  const auto engine = LoadNano({.with_mtp = true, .num_threads = 2, .context = 300});
  const EngineInfo& info = engine->info();
  EXPECT_EQ(info.model_type, "qwen3_5");
  EXPECT_EQ(info.vocab_size, 1024);
  EXPECT_EQ(info.context, 300);
  EXPECT_EQ(info.num_threads, 2);
  EXPECT_EQ(info.numerics, "portable-1/kv-bf16");
  EXPECT_FALSE(info.mtp_source.empty());
  EXPECT_GT(info.weight_bytes, 1'000'000);
}

TEST(Engine, RefusesOptionsOutOfRangeByName) {
  const std::string model = NanoModel().string();
  EXPECT_NE(LoadError({.model = model, .context = 1}).find("[context]"), std::string::npos);
  EXPECT_NE(LoadError({.model = model, .context = 1 << 20}).find("[context]"), std::string::npos);
  EXPECT_NE(LoadError({.model = model, .num_threads = -1}).find("[threads]"), std::string::npos);
  EXPECT_NE(LoadError({.model = model, .max_sequences = 0}).find("[max_sequences]"),
            std::string::npos);
  EXPECT_NE(LoadError({.model = model, .target = "mmx"}).find("mmx"), std::string::npos);
  EXPECT_NE(LoadError({.model = "/nowhere"}).find("/nowhere"), std::string::npos);
}

TEST(Engine, DetokenizesWhatItTokenized) {
  const auto engine = LoadNano();
  auto ids = engine->Tokenize("Once upon a time<|im_end|>");
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  EXPECT_EQ(*engine->Detokenize(*ids), "Once upon a time");
  EXPECT_EQ(*engine->Detokenize(*ids, /*skip_special=*/false), "Once upon a time<|im_end|>");
  EXPECT_EQ(*engine->Detokenize({}), "");
  ids->push_back(-1);
  EXPECT_EQ(engine->Detokenize(*ids).status().code(), StatusCode::kInvalidArgument);
}

TEST(Engine, MtpNeedsItsHead) {
  const auto engine = LoadNano();
  Request request;
  request.prompt_token_ids = {1, 2, 3};
  request.speculation.kind = SpeculationKind::kMtp;
  EXPECT_EQ(engine->Submit(request).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(engine->Score({.token_ids = {1, 2, 3}, .drafts = true}).status().code(),
            StatusCode::kUnsupported);
}

TEST(Engine, ContractOffMeansNoSpeculation) {
  const auto engine = LoadNano({.with_mtp = true, .contract = ContractMode::kOff});
  Request request;
  request.prompt_token_ids = {1, 2, 3};
  request.max_tokens = 20;
  request.ignore_eos = true;
  request.speculation.kind = SpeculationKind::kMtp;
  const Result result = *engine->Generate(request);
  EXPECT_EQ(result.speculation.drafted, 0);
  EXPECT_EQ(result.speculation.rounds, 19);
  EXPECT_EQ(engine->info().contract_held, ContractMode::kOff);
}

TEST(Engine, MoreRequestsThanSequencesWaitTheirTurn) {
  const auto engine = LoadNano({.context = 64, .max_sequences = 2});
  std::vector<RequestId> ids;
  for (int i = 0; i < 5; ++i) {
    Request request;
    request.prompt_token_ids = {1 + i, 2, 3};
    request.max_tokens = 5 + i;
    request.ignore_eos = true;
    ids.push_back(*engine->Submit(request));
  }
  ASSERT_TRUE(engine->Cancel(ids[3]).ok());
  EXPECT_EQ(engine->TakeResult(ids[4]).status().code(), StatusCode::kNotFound);
  while (engine->Step()) {
  }
  EXPECT_FALSE(engine->Cancel(ids[0]).ok());
  for (int i = 0; i < 5; ++i) {
    const Result result = *engine->TakeResult(ids[i]);
    EXPECT_EQ(result.token_ids.size(), i == 3 ? 0u : 5u + i);
    EXPECT_EQ(result.finish_reason, i == 3 ? FinishReason::kCancelled : FinishReason::kLength);
    EXPECT_FALSE(engine->TakeResult(ids[i]).ok());
  }
}

TEST(Engine, TimesAndCountsAreThere) {
  const auto engine = LoadNano({.with_mtp = true});
  Request request;
  request.prompt_token_ids = {5, 6, 7, 8};
  request.max_tokens = 60;
  request.ignore_eos = true;
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 3};
  const Result result = *engine->Generate(request);
  const SpeculationStats& stats = result.speculation;
  EXPECT_EQ(stats.drafted, stats.drafted_at[0] + stats.drafted_at[1] + stats.drafted_at[2]);
  EXPECT_EQ(stats.tested, stats.tested_at[0] + stats.tested_at[1] + stats.tested_at[2]);
  EXPECT_EQ(stats.accepted, stats.accepted_at[0] + stats.accepted_at[1] + stats.accepted_at[2]);
  EXPECT_GE(stats.tested_at[0], stats.tested_at[1]);
  int64_t rounds = 0;
  for (const int64_t count : stats.rounds_with_width) rounds += count;
  EXPECT_EQ(rounds, stats.rounds);
  // Every token after the first is a right draft or the choice that ends a round.
  EXPECT_LE(std::abs(stats.rounds + stats.accepted - 59), 1);
  EXPECT_GT(result.timings.prompt_ms, 0);
  EXPECT_GT(result.timings.predicted_ms, 0);
}

// Scoring: any width gives the same bytes, and generation's logits are scoring's logits.
TEST(Engine, ScoreIsEqualForAnyWidthAndToGeneration) {
  const auto engine = LoadNano({.context = 700, .max_score_width = 300});
  Request request;
  request.prompt_token_ids = LoadPrompts(NanoModel())[0].ids;
  request.max_tokens = 400;  // past 256
  request.ignore_eos = true;
  request.logits_digest = true;
  const Result generated = *engine->Generate(request);
  std::vector<int32_t> ids = request.prompt_token_ids;
  ids.insert(ids.end(), generated.token_ids.begin(), generated.token_ids.end());

  std::vector<float> first_logits;
  std::vector<float> first_logprobs;
  for (const int width : {1, 3, 16, 17, 256, 300}) {
    SCOPED_TRACE(width);
    std::vector<float> logits;
    const auto on_row = [&](std::span<const float> row, std::span<const float>) -> Status {
      logits.insert(logits.end(), row.begin(), row.end());
      return {};
    };
    const auto result = engine->Score({.token_ids = ids, .width = width, .on_row = on_row});
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(result->logprobs.size(), ids.size() - 1);
    if (first_logits.empty()) {
      first_logits = logits;
      first_logprobs = result->logprobs;
    }
    ASSERT_EQ(logits.size(), first_logits.size());
    EXPECT_EQ(std::memcmp(logits.data(), first_logits.data(), logits.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(result->logprobs.data(), first_logprobs.data(),
                          first_logprobs.size() * sizeof(float)),
              0);
    double sum = 0;
    for (const float logprob : first_logprobs) sum -= logprob;
    EXPECT_NEAR(result->perplexity, std::exp(sum / first_logprobs.size()), 1e-6);
  }
}

// Drafts at the last position reach three slots and positions further: over a page's edge, and over
// the context's.
TEST(Engine, PositionDigestsAreAChainOverTheLogits) {
  const auto engine = LoadNano({.with_mtp = true, .num_threads = 2, .context = 300});
  Request request;
  request.prompt_token_ids = {5, 6, 7, 8, 9};
  request.max_tokens = 40;
  request.ignore_eos = true;
  request.position_digests = true;
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 7};
  const auto result = engine->Generate(request);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->logits_sha256, "");
  EXPECT_GT(result->speculation.accepted, 0);

  ScoreRequest score;
  score.token_ids = request.prompt_token_ids;
  score.token_ids.insert(score.token_ids.end(), result->token_ids.begin(), result->token_ids.end());
  std::vector<Sha256Bytes> chain;
  size_t row = 0;
  score.on_row = [&](std::span<const float> logits, std::span<const float>) -> Status {
    // The last token's row would choose the one that max_tokens cut off.
    if (++row < request.prompt_token_ids.size() || row == score.token_ids.size()) return {};
    const Sha256Bytes before = chain.empty() ? Sha256Bytes{} : chain.back();
    Sha256 sha;
    sha.Update(std::as_bytes(std::span(before)));
    sha.UpdateFloats(logits);
    chain.push_back(sha.Finish());
    return {};
  };
  ASSERT_TRUE(engine->Score(score).ok());
  EXPECT_EQ(chain.size(), 40U);
  EXPECT_EQ(result->position_digests, chain);

  request.position_digests = false;
  EXPECT_TRUE(engine->Generate(request)->position_digests.empty());
}

TEST(Engine, ScoreDraftsDoNotDependOnWhereTheContextEnds) {
  std::vector<int32_t> ids;
  for (const Prompt& prompt : LoadPrompts(NanoModel())) {
    ids.insert(ids.end(), prompt.ids.begin(), prompt.ids.end());
  }
  const auto roomy = LoadNano({.with_mtp = true, .context = 1100});
  for (const int64_t length : {100, 254, 255, 256, 257, 511, 512, 1023}) {
    if (length > Sampled(1023, 257)) continue;
    SCOPED_TRACE(length);
    const std::vector<int32_t> cut(ids.begin(), ids.begin() + length);
    const auto tight = LoadNano({.with_mtp = true, .context = length});
    const ScoreRequest request = {.token_ids = cut, .drafts = true};
    const ScoreResult expected = *roomy->Score(request);
    const ScoreResult actual = *tight->Score(request);
    ASSERT_EQ(actual.drafts.size(), expected.drafts.size());
    for (size_t row = 0; row < actual.drafts.size(); ++row) {
      EXPECT_EQ(actual.drafts[row].ids, expected.drafts[row].ids) << row;
      EXPECT_EQ(actual.drafts[row].margins, expected.drafts[row].margins) << row;
    }
  }
}

// mlx and others stopped only at the config's id and ran past the end of a turn (qwen3_5.md pitfall
// 49).
TEST(Engine, StopsAtTheTokenizersEndOfTurnToo) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("verbatim_eos_" + std::to_string(::getpid()));
  std::filesystem::remove_all(folder);
  std::filesystem::copy(NanoModel(), folder);
  std::filesystem::remove(folder / "generation_config.json");
  auto engine = Engine::Load({.model = folder.string()});
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const auto end_of_turn = (*engine)->Tokenize("<|im_end|>");
  ASSERT_EQ(end_of_turn->size(), 1u);
  EXPECT_NE(std::ranges::find((*engine)->info().eos_token_ids, (*end_of_turn)[0]),
            (*engine)->info().eos_token_ids.end());
}

TEST(Engine, ScoreRefusesByName) {
  const auto engine = LoadNano({.context = 64});
  const auto error = [&](const ScoreRequest& request) {
    return engine->Score(request).status().message();
  };
  EXPECT_NE(error({.token_ids = {1}}).find("2 to 64"), std::string::npos);
  EXPECT_NE(error({.token_ids = {1, 5000}}).find("5000"), std::string::npos);
  EXPECT_NE(error({.token_ids = {1, 2}, .width = 0}).find("[width]"), std::string::npos);
  const auto failing = [](std::span<const float>, std::span<const float>) -> Status {
    return MakeError(StatusCode::kIo, "disk", "room", "none");
  };
  EXPECT_EQ(error({.token_ids = {1, 2}, .on_row = failing}), "[disk] expected room, received none");
  EXPECT_TRUE(engine->Score({.token_ids = {1, 2}}).ok());  // the failed one gave its state back
}

}  // namespace
}  // namespace verbatim::testing
