// An engine over a vendor's products: it says what it is, and the text is as good as the exact
// one's. Not the products themselves (backend/vendor_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/vendor/vendor_backend.h"
#include "tests/support/test_models.h"
#include "verbatim/engine.h"
#include "verbatim/version.h"

namespace verbatim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<Engine> Load(const std::filesystem::path& model, ContractMode contract) {
  auto engine = Engine::Load({.model = model.string(),
                              .with_mtp = true,
                              .contract = contract,
                              .num_threads = 2,
                              .context = 512});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

TEST(GreedyTest, SaysWhatIsHeldAndWhy) {
  const auto engine = Load(testing::NanoModel(), ContractMode::kGreedy);
  const EngineInfo& info = engine->info();
  EXPECT_EQ(info.contract, ContractMode::kGreedy);
  if (!vendor::CheckVendor().ok()) {  // a build without the library
    EXPECT_EQ(info.contract_held, ContractMode::kExact);
    EXPECT_EQ(info.numerics, NumericsName("bf16"));
    return;
  }
  EXPECT_EQ(info.contract_held, ContractMode::kGreedy);
  EXPECT_EQ(info.backend, "cpu+onednn");
  EXPECT_THAT(info.contract_reason, HasSubstr("oneDNN"));
  EXPECT_THAT(info.numerics, StartsWith("onednn."));
  EXPECT_THAT(info.numerics, HasSubstr("/kv-bf16"));
  EXPECT_EQ(info.probe.verdict, ProbeVerdict::kNotRun);
}

struct Scored {
  double perplexity;
  std::vector<int32_t> best;   // [T - 1]
  std::vector<float> margins;  // [T - 1], best minus second-best logit
};

Scored Score(Engine& engine, const std::vector<int32_t>& ids) {
  Scored scored;
  ScoreRequest request{.token_ids = ids};
  request.on_row = [&](std::span<const float> logits, std::span<const float>) -> Status {
    const auto best = std::ranges::max_element(logits);
    float second = -INFINITY;
    for (auto logit = logits.begin(); logit != logits.end(); ++logit) {
      if (logit != best) second = std::max(second, *logit);
    }
    scored.best.push_back(static_cast<int32_t>(best - logits.begin()));
    scored.margins.push_back(*best - second);
    return {};
  };
  const auto result = engine.Score(request);
  EXPECT_TRUE(result.ok()) << result.status().message();
  scored.perplexity = result->perplexity;
  return scored;
}

// Rounding weights and activations to bf16 moves logits of these models by some hundredths: choices
// with a margin of half a logit stand, and perplexity moves by far less than 1 %.
TEST(GreedyTest, TextIsAsGoodAsExact) {
  std::vector<std::filesystem::path> models = {testing::TinyQuantizedModel()};
  if (const auto model = testing::Tiny16BitModel()) models.push_back(*model);
  for (const auto& model : models) {
    SCOPED_TRACE(model.string());
    const auto exact = Load(model, ContractMode::kExact);
    const auto greedy = Load(model, ContractMode::kGreedy);
    double exact_loss = 0;
    double greedy_loss = 0;
    int64_t clear = 0;
    const auto prompts = testing::LoadPrompts(model);
    for (size_t i = 0; i < 6; ++i) {
      const std::vector<int32_t>& ids = prompts[i].ids;
      const Scored a = Score(*exact, ids);
      const Scored b = Score(*greedy, ids);
      exact_loss += std::log(a.perplexity);
      greedy_loss += std::log(b.perplexity);
      for (size_t row = 0; row < a.best.size(); ++row) {
        if (a.margins[row] < 0.5f) continue;
        ++clear;
        EXPECT_EQ(a.best[row], b.best[row]) << i << " " << row << " margin " << a.margins[row];
      }
    }
    EXPECT_GT(clear, 100);
    EXPECT_NEAR(std::exp((greedy_loss - exact_loss) / 6), 1, 0.01);
  }
}

TEST(GreedyTest, GeneratesWithMtp) {
  const auto engine = Load(testing::TinyQuantizedModel(), ContractMode::kGreedy);
  Request request;
  request.prompt_token_ids = testing::LoadPrompts(testing::TinyQuantizedModel())[0].ids;
  request.max_tokens = 48;
  request.ignore_eos = true;
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 3};
  const auto result = engine->Generate(request);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->token_ids.size(), 48u);
  // Drafts meet choices of the same products: half of them agree on any text of this model.
  EXPECT_GT(2 * result->speculation.accepted, result->speculation.tested);
}

}  // namespace
}  // namespace verbatim
