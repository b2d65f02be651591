// How requests choose their tokens, through the public API: what each option does to the output,
// what is refused, and that a failing request fails alone. The choice itself is sampler_test.cc's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

std::unique_ptr<Engine> LoadTiny(int max_sequences = 1) {
  auto engine = Engine::Load({.model = TinyQuantizedModel().string(),
                              .with_mtp = true,
                              .num_threads = 2,
                              .context = 512,
                              .max_sequences = max_sequences});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

Request MakeRequest(const Engine& engine, SamplingOptions sampling, int64_t max_tokens = 60) {
  Request request;
  request.prompt_token_ids = *engine.Tokenize("Once upon a time there was");
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.sampling = std::move(sampling);
  return request;
}

TEST(Sampling, SeedsAndChoicesDifferAndRepeat) {
  const auto engine = LoadTiny();
  std::set<std::vector<int32_t>> outputs;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
    for (const uint32_t choice : {0U, 1U}) {
      const SamplingOptions sampling = {.temperature = 0.8F, .seed = seed, .choice = choice};
      const auto result = engine->Generate(MakeRequest(*engine, sampling));
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(engine->Generate(MakeRequest(*engine, sampling))->token_ids, result->token_ids);
      outputs.insert(result->token_ids);
    }
  }
  EXPECT_EQ(outputs.size(), 6U);
}

TEST(Sampling, BannedTextsAreNotInTheOutput) {
  const auto engine = LoadTiny();
  const std::string free_text = engine->Generate(MakeRequest(*engine, {}))->text;
  ASSERT_NE(free_text.find(" the"), std::string::npos) << free_text;
  for (const float temperature : {0.0F, 0.8F}) {
    SamplingOptions sampling = {.banned_strings = {"the", "a w"}, .temperature = temperature};
    for (const SpeculationKind kind : {SpeculationKind::kOff, SpeculationKind::kMtp}) {
      Request request = MakeRequest(*engine, sampling, 120);
      request.speculation = {.kind = kind, .draft_tokens = 4};
      const auto result = engine->Generate(request);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result->text.find("the"), std::string::npos) << result->text;
      EXPECT_EQ(result->text.find("a w"), std::string::npos) << result->text;
    }
  }
}

TEST(Sampling, MinTokensHoldsBackEndsOfEveryKind) {
  const auto engine = LoadTiny();
  Request request = MakeRequest(*engine, {});
  request.stop = {"e"};
  const auto early = engine->Generate(request);
  ASSERT_LT(early->token_ids.size(), 20U);
  EXPECT_EQ(early->finish_reason, FinishReason::kStop);
  request.sampling.min_tokens = 30;
  const auto late = engine->Generate(request);
  EXPECT_GT(late->token_ids.size(), 30U);
  EXPECT_EQ(late->finish_reason, FinishReason::kStop);
  // The end-of-sequence token: made the most probable one by a bias.
  request = MakeRequest(*engine, {.logit_bias = {{engine->info().eos_token_ids[0], 500}}});
  request.ignore_eos = false;
  EXPECT_EQ(engine->Generate(request)->token_ids.size(), 1U);
  request.sampling.min_tokens = 7;
  const auto held = engine->Generate(request);
  EXPECT_EQ(held->token_ids.size(), 8U);
  EXPECT_EQ(held->finish_reason, FinishReason::kStop);
}

TEST(Sampling, LogprobsDescribeTheChoice) {
  const auto engine = LoadTiny();
  SamplingOptions sampling = {.temperature = 0.8F, .top_k = 10, .logprobs = 4};
  const auto result = engine->Generate(MakeRequest(*engine, sampling));
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->logprobs.size(), result->token_ids.size());
  for (size_t i = 0; i < result->logprobs.size(); ++i) {
    const TokenLogprobs& token = result->logprobs[i];
    ASSERT_EQ(token.top_raw.size(), 4U);
    ASSERT_EQ(token.top_processed.size(), 4U);
    EXPECT_EQ(token.top_raw[0].token_id, token.top_processed[0].token_id);  // nothing reorders here
    EXPECT_GE(token.top_raw[0].logprob, token.raw);
    // 10 ids and a temperature below 1 leave the best one more than the vocabulary did.
    EXPECT_GE(token.top_processed[0].logprob, token.top_raw[0].logprob);
    EXPECT_TRUE(std::isfinite(token.processed)) << i;
  }
}

TEST(Sampling, TheSameNoiseMakesDraftsRight) {
  const auto engine = LoadTiny();
  const auto accepted = [&](bool noise) {
    Request request = MakeRequest(*engine, {.temperature = 0.8F, .seed = 5}, 400);
    request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 1, .draft_noise = noise};
    const auto result = engine->Generate(request);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return static_cast<double>(result->speculation.accepted) /
           static_cast<double>(result->speculation.tested);
  };
  const double with = accepted(true);
  const double without = accepted(false);
  EXPECT_GT(with, without + 0.1) << with << " with the noise, " << without << " without";
}

TEST(Sampling, WhatIsOutOfRangeIsRefusedByName) {
  const auto engine = LoadTiny();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::string, SamplingOptions>> cases = {
      {"temperature", {.temperature = -1}},
      {"temperature", {.temperature = kNan}},
      {"temperature", {.temperature = 1e-30F}},
      {"top_k", {.top_k = -1}},
      {"top_p", {.top_p = 1.5F}},
      {"top_p", {.top_p = kNan}},
      {"min_p", {.min_p = -0.1F}},
      {"repetition_penalty", {.repetition_penalty = 0}},
      {"frequency_penalty", {.frequency_penalty = 1e9F}},
      {"presence_penalty", {.presence_penalty = kNan}},
      {"logit_bias", {.logit_bias = {{-1, 0}}}},
      {"logit_bias", {.logit_bias = {{8192, 0}}}},
      {"logit_bias", {.logit_bias = {{3, 1}, {3, 2}}}},
      {"logit_bias", {.logit_bias = {{3, kNan}}}},
      {"banned_token_ids", {.banned_token_ids = {100000}}},
      {"banned string", {.banned_strings = {""}}},
      {"min_tokens", {.min_tokens = -1}},
      {"logprobs", {.logprobs = kMaxTopLogprobs + 1}},
      {"logprobs", {.logprobs = -2}},
  };
  for (const auto& [name, sampling] : cases) {
    const auto id = engine->Submit(MakeRequest(*engine, sampling));
    ASSERT_FALSE(id.ok()) << name;
    EXPECT_EQ(id.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(id.status().message().find("[" + name + "]"), std::string::npos)
        << id.status().message();
  }
  EXPECT_FALSE(engine->Step());
}

TEST(Sampling, ARequestWithNothingToChooseFailsAlone) {
  const auto engine = LoadTiny(2);
  const auto alone = engine->Generate(MakeRequest(*engine, {.temperature = 0.7F}));
  Request request = MakeRequest(*engine, {});
  for (int32_t id = 0; id < engine->info().vocab_size; ++id) {
    request.sampling.banned_token_ids.push_back(id);
  }
  const auto failing = engine->Submit(request);
  const auto other = engine->Submit(MakeRequest(*engine, {.temperature = 0.7F}));
  ASSERT_TRUE(failing.ok() && other.ok());
  while (engine->Step()) {
  }
  const auto failed = engine->TakeResult(*failing);
  EXPECT_EQ(failed->finish_reason, FinishReason::kError);
  EXPECT_NE(failed->error.message().find("choice of output token 0"), std::string::npos)
      << failed->error.message();
  EXPECT_EQ(engine->TakeResult(*other)->token_ids, alone->token_ids);
}

}  // namespace
}  // namespace verbatim::testing
