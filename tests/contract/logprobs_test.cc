// Scoring a prompt with its output gives the log-probabilities that generation reported, bit for
// bit, at any width (issue 4, "what it must show" 2).
#include <gtest/gtest.h>

#include <bit>

#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

constexpr int64_t kContext = 1400;
constexpr int64_t kChunk = 64;

std::unique_ptr<Engine> LoadEngine(int64_t prefill_chunk) {
  auto engine = Engine::Load({.model = NanoModel().string(),
                              .with_mtp = true,
                              .num_threads = 2,
                              .context = kContext,
                              .prefill_chunk = prefill_chunk,
                              .max_score_width = 300});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

std::vector<int32_t> PromptOf(int64_t num_tokens) {
  std::vector<int32_t> ids;
  for (const Prompt& prompt : LoadPrompts(NanoModel())) {
    ids.insert(ids.end(), prompt.ids.begin(), prompt.ids.end());
    if (static_cast<int64_t>(ids.size()) >= num_tokens) break;
  }
  ids.resize(num_tokens);
  return ids;
}

// `prompt_tokens` then `max_tokens` generated, with speculation; scored in every width of `widths`.
void CheckPrompt(Engine& engine, int64_t prompt_tokens, int64_t max_tokens, float temperature,
                 const std::vector<int>& widths) {
  SCOPED_TRACE(::testing::Message()
               << prompt_tokens << " prompt tokens, temperature " << temperature);
  Request request;
  request.prompt_token_ids = PromptOf(prompt_tokens);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.want_text = false;
  request.sampling = {.temperature = temperature, .top_p = 0.9F, .seed = 11, .logprobs = 0};
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 4};
  const auto result = engine.Generate(request);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(static_cast<int64_t>(result->token_ids.size()), max_tokens);
  std::vector<int32_t> ids = request.prompt_token_ids;
  ids.insert(ids.end(), result->token_ids.begin(), result->token_ids.end());
  for (const int width : widths) {
    const auto score = engine.Score({.token_ids = ids, .width = width});
    ASSERT_TRUE(score.ok()) << score.status().message();
    for (int64_t i = 0; i < max_tokens; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(result->logprobs[i].raw),
                std::bit_cast<uint32_t>(score->logprobs[prompt_tokens + i - 1]))
          << "output token " << i << ", width " << width;
    }
  }
}

TEST(Logprobs, OfGenerationAreThoseOfScoringAroundTheChunk) {
  int index = 0;
  for (const int64_t chunk : {kChunk, int64_t{256}}) {
    const auto engine = LoadEngine(chunk);
    for (const int64_t prompt : {int64_t{1}, chunk - 1, chunk, chunk + 1, 2 * chunk + 1}) {
      for (const float temperature : {0.0F, 0.8F}) {
        if (index++ % Sampled(1, 3) != 0) continue;  // coprime to the counts of all three axes
        CheckPrompt(*engine, prompt, 40, temperature, {1, 7, 16, 300});
      }
    }
  }
}

TEST(Logprobs, OfGenerationAreThoseOfScoringPast256And1024Tokens) {
  const auto engine = LoadEngine(kChunk);
  CheckPrompt(*engine, 240, 60, 0.8F, {1, 5, 16});
  CheckPrompt(*engine, 1000, Sampled(300, 40), 0.8F, {16, 257});
  CheckPrompt(*engine, 3, Sampled(1200, 280), 0, {1, 16});
}

}  // namespace
}  // namespace verbatim::testing
