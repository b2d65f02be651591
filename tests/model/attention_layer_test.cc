// The gated attention layer inside a whole model: which rows of q_proj are the gate, and what the
// rotation touches (qwen3_5.md 9, items 3, 14 and 15). Not its arithmetic (tests/backend).
#include <gtest/gtest.h>

#include "tests/model/layer_support.h"

namespace verbatim::testing {
namespace {

constexpr int kTokens = 20;
const std::string kLayer = "model.language_model.layers.0.";
const std::string kQProj = kLayer + "self_attn.q_proj.weight";

ModelSpec AttentionFirst() {
  ModelSpec spec;
  spec.layer_types = "fl";
  return spec;
}

// Layer 0 adds the gated heads themselves: o_proj is the identity, the MLP adds nothing, and
// queries are zero, so that every head is the mean of the visible values.
TensorMap UniformAttention(const ModelSpec& spec) {
  TensorMap raw = RawTensors(spec);
  const int width = spec.num_attention_heads * spec.head_dim;
  std::vector<float> identity(width * spec.hidden_size);
  for (int i = 0; i < width; ++i) identity[i * width + i] = 1;
  SetValues(raw, kLayer + "self_attn.o_proj.weight", identity);
  Fill(raw, kLayer + "mlp.down_proj.weight", 0);
  for (int head = 0; head < spec.num_attention_heads; ++head) {
    ZeroRows(raw, kQProj, 2 * head * spec.head_dim, spec.head_dim);
  }
  return raw;
}

// Item 3: per head the query rows and then the gate rows, not two halves of the matrix.
TEST(AttentionLayer, ZeroGateRowsHalveTheirHeadAndNoOther) {
  const ModelSpec spec = AttentionFirst();
  const int dim = spec.head_dim;
  ASSERT_EQ(spec.num_attention_heads * dim, spec.hidden_size);
  TensorMap raw = UniformAttention(spec);
  const auto tokens = SomeTokens(kTokens, spec.vocab_size);
  const HarnessOptions options = {.kv_type = ops::KvType::kF32};
  const auto gated = MakeHarness(ConfigJson(spec), raw, options);
  ZeroRows(raw, kQProj, 3 * dim, dim);  // the gate of head 1
  const auto halved = MakeHarness(ConfigJson(spec), raw, options);
  const auto with_gate = ResidualAfter(*gated, 0, tokens);
  const auto with_half = ResidualAfter(*halved, 0, tokens);

  const ModelWeights& weights = gated->checkpoint.weights;
  const Matrix64 v_proj(weights, "layers.0.self_attn.v_proj");
  const Matrix64 q_proj(weights, "layers.0.self_attn.q_proj");
  const Vector64 norm = NamedVector64(weights, "layers.0.input_layernorm");
  Vector64 sum(dim);
  double largest_change = 0;
  for (int t = 0; t < kTokens; ++t) {
    const auto embedding = EmbeddingRow(gated->checkpoint, tokens[t]);
    const Vector64 x = RmsNorm64({embedding.begin(), embedding.end()}, norm, 1e-6);
    const Vector64 v = v_proj.Times(x), query_gate = q_proj.Times(x);
    for (int d = 0; d < dim; ++d) {
      sum[d] += v[d];
      const double mean = sum[d] / (t + 1);
      for (int head = 0; head < 2; ++head) {
        const int at = head * dim + d;
        const double gate = Sigmoid64(query_gate[(2 * head + 1) * dim + d]);
        const int64_t i = t * spec.hidden_size + at;
        EXPECT_NEAR(with_gate[i] - embedding[at], mean * gate, 1e-5) << t << " " << at;
        if (head == 0) {
          EXPECT_EQ(with_half[i], with_gate[i]) << t << " " << at;
        } else {
          EXPECT_NEAR(with_half[i] - embedding[at], mean * 0.5, 1e-5) << t << " " << at;
          largest_change = std::max(largest_change, std::abs(mean * (gate - 0.5)));
        }
      }
    }
  }
  EXPECT_GT(largest_change, 0.05);  // the gates do something
}

// Items 14 and 15: one token at every position. Its cached key is the key at position 0 rotated in
// the pairs (i, i + rotary_dim / 2), and the other channels are the same bits everywhere.
TEST(AttentionLayer, RotatesHalfSplitPairsOfTheFirstChannelsOnly) {
  const ModelSpec spec = AttentionFirst();
  const auto harness =
      MakeHarness(ConfigJson(spec), RawTensors(spec), {.kv_type = ops::KvType::kF32});
  const int rotary_dim = harness->checkpoint.config.rotary_dim;
  ASSERT_EQ(rotary_dim, spec.head_dim / 4);
  SequenceState state = harness->NewSequence(kTokens);
  harness->Run(state, std::vector<int32_t>(kTokens, 7));
  const auto bytes = harness->ReadKv(state, 1, 0, kTokens);
  std::vector<float> kv(bytes.size() / sizeof(float));  // [slot][d][k, v] of the one KV head
  std::memcpy(kv.data(), bytes.data(), bytes.size());
  const auto key = [&](int slot, int d) { return kv[(slot * spec.head_dim + d) * 2]; };
  double largest_turn = 0;
  for (int slot = 0; slot < kTokens; ++slot) {
    for (int i = 0; i < rotary_dim / 2; ++i) {
      const double angle = slot * std::pow(1e7, -2.0 * i / rotary_dim);
      const double x = key(0, i), y = key(0, i + rotary_dim / 2);
      EXPECT_NEAR(key(slot, i), x * std::cos(angle) - y * std::sin(angle), 1e-5);
      EXPECT_NEAR(key(slot, i + rotary_dim / 2), y * std::cos(angle) + x * std::sin(angle), 1e-5);
      largest_turn = std::max(largest_turn, std::abs(key(slot, i) - x));
    }
    for (int d = rotary_dim; d < spec.head_dim; ++d) EXPECT_EQ(key(slot, d), key(0, d));
  }
  EXPECT_GT(largest_turn, 0.5);
}

}  // namespace
}  // namespace verbatim::testing
