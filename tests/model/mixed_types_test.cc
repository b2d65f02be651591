// Models whose tensors have several types at once: widths of siblings, A_log, and a head of another
// type than its target (qwen3_5.md 9, items 6, 7 and 13).
#include <gtest/gtest.h>

#include "numerics/argmax.h"
#include "tests/model/draft_head_rows.h"
#include "tests/model/layer_support.h"

namespace verbatim::testing {
namespace {

constexpr int kTokens = 24;

// |a - b| / |b| over all logits.
double RelativeError(const ModelHarness::Logits& a, const ModelHarness::Logits& b) {
  double difference = 0;
  double size = 0;
  for (size_t r = 0; r < a.size(); ++r) {
    for (size_t i = 0; i < a[r].size(); ++i) {
      difference += std::pow(double(a[r][i]) - b[r][i], 2);
      size += std::pow(double(b[r][i]), 2);
    }
  }
  return std::sqrt(difference / size);
}

ModelHarness::Logits RunWhole(ModelHarness& harness, std::span<const int32_t> tokens) {
  SequenceState state = harness.NewSequence(tokens.size());
  auto logits = harness.Run(state, tokens);
  harness.Release(state);
  return logits;
}

// One certain row and `width - 1` right drafts at a time.
ModelHarness::Logits RunBlocks(ModelHarness& harness, std::span<const int32_t> tokens, int width) {
  SequenceState state = harness.NewSequence(tokens.size());
  ModelHarness::Logits all;
  for (size_t at = 0; at < tokens.size(); at += width) {
    for (auto& row : harness.Run(state, tokens.subspan(at, width), 1, width - 1)) {
      all.push_back(std::move(row));
    }
  }
  harness.Release(state);
  return all;
}

// Item 7: qkv of 4 bits, z of 8 with another group, a and b in bf16.
TEST(MixedTypes, SiblingsOfDifferentWidthsRunAndKeepTheContract) {
  ModelSpec spec;
  spec.mtp = false;
  TensorMap tensors = ToMlx(RawTensors(spec));
  TensorMap dense = tensors;
  nlohmann::json config = ConfigJson(spec);
  config["quantization"] = {{"bits", 4}, {"group_size", 32}};
  for (int layer = 0; layer < 3; ++layer) {
    const std::string mixer =
        "language_model.model.layers." + std::to_string(layer) + ".linear_attn.";
    QuantizeTensor(&tensors, mixer + "in_proj_qkv", 4, 32);
    QuantizeTensor(&tensors, mixer + "in_proj_z", 8, 64);
    config["quantization"][mixer + "in_proj_z"] = {{"bits", 8}, {"group_size", 64}};
  }
  const auto mixed = MakeHarness(config, tensors, {});
  // The same values without quantization; only the activations are then rounded differently.
  for (int layer = 0; layer < 3; ++layer) {
    for (const char* name : {"in_proj_qkv", "in_proj_z"}) {
      const std::string path = "layers." + std::to_string(layer) + ".linear_attn." + name;
      const WeightMatrix& matrix = **mixed->checkpoint.weights.Matrix(path);
      std::vector<float> values(matrix.rows * matrix.cols);
      for (int64_t r = 0; r < matrix.rows; ++r) {
        DequantizeRow(matrix, r, std::span(values).subspan(r * matrix.cols, matrix.cols));
      }
      dense["language_model.model." + path + ".weight"] =
          MakeTensor("F32", {matrix.rows, matrix.cols}, values);
    }
  }
  const auto plain = MakeHarness(ConfigJson(spec), dense, {});
  const auto tokens = SomeTokens(kTokens, spec.vocab_size);
  const auto chain = RunBlocks(*mixed, tokens, 1);
  const auto reference = RunWhole(*plain, tokens);
  const double error = RelativeError(chain, reference);
  RecordProperty("relative_error", std::to_string(error));
  EXPECT_LT(error, 0.1);  // activations of 8 bits through three layers
  for (const int width : {2, 4, 12}) {
    SCOPED_TRACE(width);
    const auto blocks = RunBlocks(*mixed, tokens, width);
    for (int i = 0; i < kTokens; ++i) EXPECT_TRUE(SameBytes(blocks[i], chain[i])) << i;
  }
  const auto whole = RunWhole(*mixed, tokens);
  for (int i = 0; i < kTokens; ++i) EXPECT_TRUE(SameBytes(whole[i], chain[i])) << i;
}

// Item 6: A_log in bf16 is the same model but for the rounding of the file; its effect is reported.
TEST(MixedTypes, ALogInBf16DiffersByItsRoundingOnly) {
  const ModelSpec spec;
  TensorMap raw = RawTensors(spec);
  const auto tokens = SomeTokens(kTokens, spec.vocab_size);
  const auto f32 = RunWhole(*MakeHarness(ConfigJson(spec), raw, {}), tokens);
  TensorMap rounded = raw;
  for (int layer = 0; layer < 3; ++layer) {
    const std::string name =
        "model.language_model.layers." + std::to_string(layer) + ".linear_attn.A_log";
    rounded[name] = MakeTensor("BF16", raw.at(name).shape, TensorValues(raw.at(name)));
    raw[name] = MakeTensor("F32", raw.at(name).shape, TensorValues(rounded.at(name)));
  }
  const auto bf16 = RunWhole(*MakeHarness(ConfigJson(spec), rounded, {}), tokens);
  const auto widened = RunWhole(*MakeHarness(ConfigJson(spec), raw, {}), tokens);
  for (int i = 0; i < kTokens; ++i) EXPECT_TRUE(SameBytes(bf16[i], widened[i])) << i;
  const double difference = RelativeError(bf16, f32);
  RecordProperty("relative_difference", std::to_string(difference));
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 0.01);
}

// Item 13: an f16 head on a bf16 target computes in binary32 as any other, so that hidden values
// beyond the range of f16 (65504) are ordinary numbers.
TEST(MixedTypes, AnF16HeadOnABf16TargetIsTheSameHeadAndDoesNotOverflow) {
  const ModelSpec spec;
  const TensorMap raw = RawTensors(spec);
  const auto tokens = SomeTokens(kTokens, spec.vocab_size);
  const auto run = [&](const std::string& dtype, float hidden_norm) {
    TensorMap tensors = raw;
    for (auto& [name, tensor] : tensors) {
      if (!name.starts_with("mtp.")) continue;
      // Rounded to f16 first, so that both types hold the same values.
      const FileTensor f16 = MakeTensor("F16", tensor.shape, TensorValues(tensor));
      tensor = MakeTensor(dtype, tensor.shape, TensorValues(f16));
    }
    if (hidden_norm != 0) Fill(tensors, "mtp.pre_fc_norm_hidden.weight", hidden_norm);
    const auto harness = MakeHarness(ConfigJson(spec), tensors, {.with_mtp = true});
    EXPECT_EQ((*harness->checkpoint.weights.Matrix("mtp.fc"))->format.type,
              dtype == "F16" ? WeightType::kF16 : WeightType::kF32);
    EXPECT_EQ((*harness->checkpoint.weights.Matrix("embed_tokens"))->format.type,
              WeightType::kBF16);
    DraftHeadRows rows(*harness, tokens);
    return rows.Logits(rows.TrueTokens(), rows.TargetHidden());
  };
  for (const float hidden_norm : {0.0f, 60000.0f}) {
    SCOPED_TRACE(hidden_norm);
    const auto f16 = run("F16", hidden_norm);
    const auto f32 = run("F32", hidden_norm);
    ASSERT_EQ(f16.size(), size_t{kTokens - 1});
    for (size_t i = 0; i < f16.size(); ++i) {
      EXPECT_TRUE(SameBytes(f16[i], f32[i])) << i;
      for (const float value : f16[i]) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

}  // namespace
}  // namespace verbatim::testing
