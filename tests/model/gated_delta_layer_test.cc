// The gated-delta layer inside a whole model against binary64, and the faults that it must not have
// (qwen3_5.md 9, items 2, 4, 21 to 24). Not its bits (tests/backend/gated_delta_test.cc).
#include <gtest/gtest.h>

#include "tests/model/gated_delta64.h"

namespace verbatim::testing {
namespace {

constexpr int kTokens = 70;
// The same formulas in binary64 and in binary32: values of about 1, sums of at most 100 terms.
constexpr double kTolerance = 2e-5;

// Three value heads share a key head: the models where Hk == Hv don't see the head map.
ModelSpec ThreeHeadsPerKey() {
  ModelSpec spec;
  spec.layer_types = "lf";
  spec.linear_num_key_heads = 2;
  spec.linear_num_value_heads = 6;
  return spec;
}

class GatedDeltaLayer : public ::testing::Test {
 protected:
  GatedDeltaLayer() : raw_(RawTensors(spec_)), tokens_(SomeTokens(kTokens, spec_.vocab_size)) {
    Fill(raw_, "model.language_model.layers.0.mlp.down_proj.weight", 0);
    harness_ = MakeHarness(ConfigJson(spec_), raw_, {});
    after_ = ResidualAfter(*harness_, 0, tokens_);
  }

  // The largest difference between layer 0 of the model and of a reference with `faults`.
  double Difference(GatedDeltaFaults faults) {
    GatedDelta64 reference(harness_->checkpoint, 0, faults);
    double worst = 0;
    for (int t = 0; t < kTokens; ++t) {
      const auto embedding = EmbeddingRow(harness_->checkpoint, tokens_[t]);
      const Vector64 added = reference.Run({embedding.begin(), embedding.end()});
      for (size_t i = 0; i < added.size(); ++i) {
        worst =
            std::max(worst, std::abs(embedding[i] + added[i] - after_[t * spec_.hidden_size + i]));
      }
    }
    return worst;
  }

  const ModelSpec spec_ = ThreeHeadsPerKey();
  TensorMap raw_;
  std::vector<int32_t> tokens_;
  std::unique_ptr<ModelHarness> harness_;
  std::vector<float> after_;  // the residual stream after layer 0
};

TEST_F(GatedDeltaLayer, AgreesWithBinary64) { EXPECT_LT(Difference({}), kTolerance); }

// Item 4: value head h reads key head h div 3.
TEST_F(GatedDeltaLayer, HeadsModuloKeyHeadsWouldBeSeen) {
  EXPECT_GT(Difference({.modulo_heads = true}), 1000 * kTolerance);
}

// Item 2: the weight of the gated norm is not zero-centred.
TEST_F(GatedDeltaLayer, AShiftedGatedNormWouldBeSeen) {
  EXPECT_GT(Difference({.shifted_gated_norm = true}), 1000 * kTolerance);
}

// What a model gives for `tokens` in the given pieces: the logits of the last row, then the states.
std::vector<float> InPieces(ModelHarness& harness, std::span<const int32_t> tokens, int piece) {
  SequenceState state = harness.NewSequence(tokens.size());
  std::vector<float> result;
  for (size_t at = 0; at < tokens.size(); at += piece) {
    result =
        harness.Run(state, tokens.subspan(at, std::min<size_t>(piece, tokens.size() - at))).back();
  }
  const auto states = harness.ReadRecurrent(state);
  result.insert(result.end(), states.begin(), states.end());
  harness.Release(state);
  return result;
}

// Item 21: later pieces go on from the states of the earlier ones. 64 does not divide 200.
TEST_F(GatedDeltaLayer, PiecesOfAPromptContinueItsState) {
  const auto tokens = SomeTokens(200, spec_.vocab_size);
  const auto whole = InPieces(*harness_, tokens, 200);
  EXPECT_TRUE(SameBytes(InPieces(*harness_, tokens, 64), whole));
  EXPECT_TRUE(SameBytes(InPieces(*harness_, tokens, 1), whole));
  const auto last_piece_alone = InPieces(*harness_, std::span(tokens).last(72), 72);
  EXPECT_FALSE(SameBytes(last_piece_alone, whole));
}

// Items 22 to 24: decays that underflow, steps far beyond the threshold of softplus, and none.
TEST_F(GatedDeltaLayer, ExtremeGatesStayFiniteInEveryCutting) {
  const auto tokens = SomeTokens(130, spec_.vocab_size);
  for (const float dt_bias : {100.0f, 80.0f, 21.0f, -100.0f}) {
    SCOPED_TRACE(dt_bias);
    Fill(raw_, "model.language_model.layers.0.linear_attn.dt_bias", dt_bias);
    const auto extreme = MakeHarness(ConfigJson(spec_), raw_, {});
    const auto whole = InPieces(*extreme, tokens, 130);
    for (const float value : whole) ASSERT_TRUE(std::isfinite(value));
    EXPECT_TRUE(SameBytes(InPieces(*extreme, tokens, 1), whole));
  }
}

}  // namespace
}  // namespace verbatim::testing
