// 4096 tokens of the nano model: the recurrent state stays with a binary64 recurrence (qwen3_5.md
// 9, item 19).
#include <gtest/gtest.h>

#include "tests/model/gated_delta64.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

constexpr int kTokens = 4096;
constexpr int kPiece = 256;

double Norm(std::span<const double> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

// |a - b| / |b|.
double RelativeError(std::span<const double> a, std::span<const double> b) {
  Vector64 difference(a.begin(), a.end());
  for (size_t i = 0; i < difference.size(); ++i) difference[i] -= b[i];
  return Norm(difference) / Norm(b);
}

TEST(LongRun, TheStateStaysWithBinary64) {
  ModelHarness harness(NanoModel(), {.num_threads = 2, .context = kTokens});
  std::vector<int32_t> tokens;
  while (tokens.size() < kTokens) {
    for (const Prompt& prompt : LoadPrompts(NanoModel())) {
      tokens.insert(tokens.end(), prompt.ids.begin(), prompt.ids.end());
    }
  }
  tokens.resize(kTokens);

  SequenceState state = harness.NewSequence(kTokens);
  std::vector<double> norms;  // of all layers' states, after every quarter
  for (int at = 0; at < kTokens; at += kPiece) {
    harness.Run(state, std::span(tokens).subspan(at, kPiece));
    if ((at + kPiece) % (kTokens / 4) != 0) continue;
    const auto all = harness.ReadRecurrent(state);
    norms.push_back(Norm(Vector64(all.begin(), all.end())));
    ASSERT_TRUE(std::isfinite(norms.back()));
  }
  for (const double norm : norms) EXPECT_NEAR(norm / norms[0], 1, 0.5);  // neither grows nor dies

  GatedDelta64 exact(harness.checkpoint, 0);
  GatedDelta64 rounded(harness.checkpoint, 0, {.bf16_state = true});
  for (const int32_t token : tokens) {
    const auto embedding = EmbeddingRow(harness.checkpoint, token);
    const Vector64 row(embedding.begin(), embedding.end());
    exact.Run(row);
    rounded.Run(row);
  }
  auto received = harness.recurrent->Read(0, state.recurrent_slot);
  received.resize(exact.state.size());  // without the convolution rows
  const double error = RelativeError(Vector64(received.begin(), received.end()), exact.state);
  const double bf16_error = RelativeError(rounded.state, exact.state);
  RecordProperty("relative_error", (::testing::Message() << error).GetString());
  EXPECT_LT(error, 1e-5);
  EXPECT_GT(bf16_error, 1e-3);  // what a bf16 state would have given
}

}  // namespace
}  // namespace verbatim::testing
