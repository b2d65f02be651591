// The agreement of the MTP drafts over prompts.jsonl and its continuations, counted as the model
// card counts it: every row whose pending token was generated and whose three successors are known.
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

constexpr double kTolerance = 0.01;  // the bound

struct Counts {
  std::array<int64_t, 3> hits{};
  std::array<int64_t, 3> tested{};
};

// Adds the rows of one prompt: draft k counts only where the drafts before it were right.
void AddRows(const ScoreResult& score, const std::vector<int32_t>& ids, size_t prompt_size,
             Counts& counts) {
  for (size_t row = prompt_size - 1; row + 4 < ids.size(); ++row) {
    for (int depth = 0; depth < 3; ++depth) {
      ++counts.tested[depth];
      if (score.drafts[row].ids[depth] != ids[row + 2 + depth]) break;
      ++counts.hits[depth];
    }
  }
}

void CheckAcceptance(const std::filesystem::path& model) {
  auto loaded = Engine::Load({.model = model.string(), .with_mtp = true, .context = 1024});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Engine& engine = **loaded;
  const auto card = nlohmann::json::parse(std::ifstream(model / "acceptance.json"));
  for (const auto& [kind, max_prompts, num_tokens] :
       {std::tuple{"prose", 120, 160}, std::tuple{"chat", 40, 64}}) {
    Counts all_rows;
    SpeculationStats decoding;
    int used = 0;
    for (const Prompt& prompt : LoadPrompts(model)) {
      if (prompt.kind != kind || used == max_prompts) continue;
      ++used;
      Request request;
      request.prompt_token_ids = prompt.ids;
      request.max_tokens = num_tokens;
      request.ignore_eos = true;
      request.want_text = false;
      request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 3};
      const Result result = *engine.Generate(request);
      for (int depth = 0; depth < 3; ++depth) {
        decoding.tested_at[depth] += result.speculation.tested_at[depth];
        decoding.accepted_at[depth] += result.speculation.accepted_at[depth];
      }
      std::vector<int32_t> ids = prompt.ids;
      ids.insert(ids.end(), result.token_ids.begin(), result.token_ids.end());
      const auto score = engine.Score({.token_ids = ids, .width = 16, .drafts = true});
      ASSERT_TRUE(score.ok()) << score.status().message();
      AddRows(*score, ids, prompt.ids.size(), all_rows);
    }
    EXPECT_EQ(used, max_prompts);
    for (int depth = 0; depth < 3; ++depth) {
      const double rate = double(all_rows.hits[depth]) / double(all_rows.tested[depth]);
      const double golden = card[kind]["rate"][depth];
      std::printf("%s draft %d: %.4f of all rows (card %.4f), %.4f of those tested in decoding\n",
                  kind, depth + 1, rate, golden,
                  double(decoding.accepted_at[depth]) / double(decoding.tested_at[depth]));
      EXPECT_NEAR(rate, golden, kTolerance) << kind << " draft " << depth + 1;
    }
    EXPECT_EQ(all_rows.tested[0], card[kind]["hits_of"][0][1].get<int64_t>());
  }
}

TEST(Acceptance, NanoAgreesWithItsCard) { CheckAcceptance(NanoModel()); }

TEST(Acceptance, Tiny16BitAgreesWithItsCard) {
  const auto model = Tiny16BitModel();
  if (!model) GTEST_SKIP() << kNoTiny16Bit;
  CheckAcceptance(*model);
}

}  // namespace
}  // namespace verbatim::testing
