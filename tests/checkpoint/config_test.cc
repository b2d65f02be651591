// config.json: both nestings, precedence, and one test per fault; quantization blocks; name rules.
#include <gtest/gtest.h>

#include "checkpoint/expect_error.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/qwen35_config.h"
#include "checkpoint/synthetic.h"
#include "checkpoint/tensor_names.h"

namespace verbatim {
namespace {

using nlohmann::json;
using testing::ConfigJson;
using testing::ExpectError;
using testing::ModelSpec;

json Base() { return ConfigJson(ModelSpec{}); }

Expected<Qwen35Config> Parse(const json& config) {
  return ParseQwen35Config(config, nullptr, "config.json");
}

// The base config with one text_config key set, or removed if the value is discarded.
Expected<Qwen35Config> With(const std::string& key, const json& value) {
  json config = Base();
  config["text_config"][key] = value;
  return Parse(config);
}

Expected<Qwen35Config> Without(const std::string& key) {
  json config = Base();
  config["text_config"].erase(key);
  return Parse(config);
}

TEST(Qwen35Config, ReadsTheNestedForm) {
  const auto config = Parse(Base());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->model_type, "qwen3_5");
  EXPECT_EQ(config->hidden_size, 64);
  EXPECT_EQ(config->rotary_dim, 8);
  EXPECT_EQ(config->rope_theta, 1e7);
  EXPECT_EQ(config->conv_dim(), 2 * 32 + 64);
  EXPECT_EQ(config->layer_types[2], Qwen35Config::LayerType::kLinearAttention);
  EXPECT_EQ(config->layer_types[3], Qwen35Config::LayerType::kFullAttention);
  EXPECT_TRUE(config->tie_word_embeddings);
  EXPECT_EQ(config->eos_token_ids, std::vector<int32_t>{2});
}

TEST(Qwen35Config, ReadsTheFlatFormWithFlattenedRope) {
  json config = Base()["text_config"];
  config.erase("rope_parameters");
  config["rope_theta"] = 10000.0;
  config["partial_rotary_factor"] = 0.5;
  const auto parsed = Parse(config);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->model_type, "qwen3_5_text");
  EXPECT_EQ(parsed->rope_theta, 10000.0);
  EXPECT_EQ(parsed->rotary_dim, 16);
}

TEST(Qwen35Config, RopeParametersWinOverFlattenedKeys) {
  json config = Base();
  config["text_config"]["rope_theta"] = 5.0;
  config["text_config"]["partial_rotary_factor"] = 1.0;
  const auto parsed = Parse(config);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->rope_theta, 1e7);
  EXPECT_EQ(parsed->rotary_dim, 8);
  config["text_config"]["rope_parameters"].erase("partial_rotary_factor");
  EXPECT_EQ(Parse(config)->rotary_dim, 32);
  config["text_config"].erase("partial_rotary_factor");
  EXPECT_EQ(Parse(config)->rotary_dim, 8);  // 0.25 if it is missing everywhere
}

TEST(Qwen35Config, LayerTypesAreAuthoritative) {
  json config = Base();
  config["text_config"]["full_attention_interval"] = 2;
  EXPECT_EQ(Parse(config)->layer_types[1], Qwen35Config::LayerType::kLinearAttention);
  config["text_config"].erase("layer_types");
  EXPECT_EQ(Parse(config)->layer_types[1], Qwen35Config::LayerType::kFullAttention);
  EXPECT_EQ(Parse(config)->layer_types[2], Qwen35Config::LayerType::kLinearAttention);
  config["text_config"].erase("full_attention_interval");
  ExpectError(Parse(config), StatusCode::kCorrupt, {"text_config.layer_types", "neither"});
}

TEST(Qwen35Config, TextConfigWinsForTyingAndTopLevelIsTheFallback) {
  json config = Base();
  config["tie_word_embeddings"] = false;
  EXPECT_TRUE(Parse(config)->tie_word_embeddings);
  config["text_config"].erase("tie_word_embeddings");
  EXPECT_FALSE(Parse(config)->tie_word_embeddings);
  config.erase("tie_word_embeddings");
  ExpectError(Parse(config), StatusCode::kCorrupt, {"tie_word_embeddings", "no such key"});
}

TEST(Qwen35Config, CollectsEosWithoutRepeats) {
  json config = Base();
  config["eos_token_id"] = json::array({2, 5});
  const json generation = {{"eos_token_id", json::array({7, 2})}};
  const auto parsed = ParseQwen35Config(config, &generation, "config.json");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->eos_token_ids, (std::vector<int32_t>{7, 2, 5}));
  const json bad = {{"eos_token_id", 96}};
  ExpectError(ParseQwen35Config(config, &bad, "config.json"), StatusCode::kCorrupt,
              {"generation_config.json: eos_token_id", "below vocab_size = 96", "received 96"});
}

TEST(Qwen35Config, EveryRequiredKeyIsMissedByName) {
  for (const char* key : {"hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers",
                          "num_attention_heads", "num_key_value_heads", "head_dim",
                          "attn_output_gate", "linear_num_key_heads", "linear_num_value_heads",
                          "linear_key_head_dim", "linear_value_head_dim", "linear_conv_kernel_dim",
                          "rms_norm_eps", "max_position_embeddings"}) {
    ExpectError(Without(key), StatusCode::kCorrupt,
                {std::string("[config.json: text_config.") + key + "]", "no such key"});
  }
  ExpectError(Without("rope_parameters"), StatusCode::kCorrupt, {"rope_theta", "no such key"});
}

TEST(Qwen35Config, OtherArchitecturesAreRefusedByName) {
  for (const char* type : {"qwen4_exp", "qwen3_next", "qwen3_5_moe", "qwen3_5_moe_text",
                           "qwen3_5_mtp", "qwen3_5x", "llama"}) {
    json config = Base();
    config["model_type"] = type;
    ExpectError(Parse(config), StatusCode::kUnsupported, {"config.json: model_type", type});
  }
  ExpectError(With("model_type", "qwen3_5_moe_text"), StatusCode::kUnsupported,
              {"text_config.model_type", "mixture of experts"});
  ExpectError(With("num_experts", 256), StatusCode::kUnsupported, {"num_experts", "256"});
}

TEST(Qwen35Config, VariantsThatCannotRunAreRefusedByName) {
  const std::pair<const char*, json> variants[] = {{"attn_output_gate", false},
                                                   {"hidden_act", "gelu"},
                                                   {"attention_bias", true},
                                                   {"mlp_only_layers", json::array({1})},
                                                   {"mamba_ssm_dtype", "bfloat16"},
                                                   {"output_gate_type", "sigmoid"},
                                                   {"linear_conv_kernel_dim", 3},
                                                   {"head_dim", 24},
                                                   {"linear_value_head_dim", 8},
                                                   {"linear_key_head_dim", 6},
                                                   {"num_key_value_heads", 3},
                                                   {"linear_num_value_heads", 3},
                                                   {"rope_scaling", {{"type", "yarn"}}}};
  for (const auto& [key, value] : variants) {
    ExpectError(With(key, value), StatusCode::kUnsupported, {key});
  }
  json config = Base();
  config["text_config"]["rope_parameters"]["rope_type"] = "yarn";
  ExpectError(Parse(config), StatusCode::kUnsupported, {"rope_parameters.rope_type", "yarn"});
  EXPECT_TRUE(With("output_gate_type", "swish").ok());
  EXPECT_TRUE(With("output_gate_type", "silu").ok());
}

TEST(Qwen35Config, ImpossibleValuesAreRefusedByName) {
  const std::pair<const char*, json> values[] = {
      {"hidden_size", 0},       {"hidden_size", -64},   {"hidden_size", "64"},
      {"hidden_size", 64.5},    {"hidden_size", 1e300}, {"vocab_size", 4294967296},
      {"num_hidden_layers", 3}, {"rms_norm_eps", 0},    {"rms_norm_eps", "x"},
      {"layer_types", "lllf"},  {"rope_parameters", 7}, {"num_hidden_layers", 100000}};
  for (const auto& [key, value] : values) {
    const auto parsed = With(key, value);
    ASSERT_FALSE(parsed.ok()) << key << value;
    EXPECT_EQ(parsed.status().code(), StatusCode::kCorrupt) << parsed.status().message();
  }
  for (const double factor : {0.0, -1.0, 1.5, 0.1}) {  // 0.1 * 32 = 3 dimensions: odd
    json config = Base();
    config["text_config"]["rope_parameters"]["partial_rotary_factor"] = factor;
    ExpectError(Parse(config), StatusCode::kCorrupt, {"partial_rotary_factor", "even"});
  }
  json config = Base();
  config["text_config"]["layer_types"][0] = "sliding_attention";
  ExpectError(Parse(config), StatusCode::kUnsupported, {"layer_types", "sliding_attention"});
  config["text_config"]["layer_types"] =
      json::array({"full_attention", "full_attention", "full_attention", "full_attention"});
  ExpectError(Parse(config), StatusCode::kUnsupported, {"layer_types", "at least one linear"});
}

TEST(QuantizationConfig, AbsentBlock) {
  const auto parsed = ParseQuantizationConfig(Base(), "config.json");
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE(parsed->present);
  EXPECT_FALSE(parsed->Lookup("lm_head").has_value());
}

// Pitfall 8: overrides under any prefix reach the same module.
TEST(QuantizationConfig, OverridesOfEveryPrefix) {
  for (const char* prefix : {"model.language_model.", "language_model.model.", "model."}) {
    json config;
    config["quantization"] = {{"group_size", 64}, {"bits", 4}};
    config["quantization"][std::string(prefix) + "layers.0.mlp.up_proj"] = {{"bits", 8}};
    config["quantization"][std::string(prefix) + "layers.0.mlp.gate_proj"] = false;
    config["quantization"]["language_model.lm_head"] = {{"group_size", 32}, {"mode", "affine"}};
    config["quantization"]["vision_tower.blocks.0"] = {{"mode", "mxfp4"}};
    const auto parsed = ParseQuantizationConfig(config, "config.json");
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed->Lookup("layers.0.mlp.up_proj"), (AffineParameters{8, 64}));
    EXPECT_FALSE(parsed->Lookup("layers.0.mlp.gate_proj").has_value());
    EXPECT_EQ(*parsed->Lookup("lm_head"), (AffineParameters{4, 32}));
    EXPECT_EQ(*parsed->Lookup("layers.1.mlp.up_proj"), (AffineParameters{4, 64}));
  }
}

TEST(QuantizationConfig, FaultsByName) {
  const auto parse = [](const json& block) {
    return ParseQuantizationConfig({{"quantization", block}}, "config.json");
  };
  ExpectError(parse({{"bits", 7}, {"group_size", 64}}), StatusCode::kUnsupported,
              {"quantization.bits", "received 7"});
  ExpectError(parse({{"bits", 4}, {"group_size", 16}}), StatusCode::kUnsupported,
              {"quantization.group_size", "received 16"});
  ExpectError(parse({{"bits", 4}}), StatusCode::kCorrupt,
              {"quantization.group_size", "no such key"});
  ExpectError(parse({{"bits", 4}, {"group_size", 32}, {"mode", "mxfp4"}}), StatusCode::kUnsupported,
              {"quantization.mode", "affine", "mxfp4"});
  ExpectError(parse({{"bits", 4}, {"group_size", 64}, {"model.norm", {{"mode", "nvfp4"}}}}),
              StatusCode::kUnsupported, {"model.norm.mode", "nvfp4"});
  ExpectError(parse({{"quant_method", "fp8"}}), StatusCode::kUnsupported, {"quant_method", "fp8"});
  ExpectError(parse("int4"), StatusCode::kCorrupt, {"quantization", "an object"});
  ExpectError(parse({{"bits", 4},
                     {"group_size", 64},
                     {"model.layers.0.mlp.up_proj", {{"bits", 8}}},
                     {"language_model.model.layers.0.mlp.up_proj", {{"bits", 6}}}}),
              StatusCode::kCorrupt, {"one setting for layers.0.mlp.up_proj"});
  json both;
  both["quantization"] = {{"bits", 4}, {"group_size", 64}};
  both["quantization_config"] = {{"bits", 8}, {"group_size", 64}};
  ExpectError(ParseQuantizationConfig(both, "config.json"), StatusCode::kCorrupt,
              {"quantization_config", "a copy", "different"});
}

TEST(TensorNames, PrefixRules) {
  const auto expect = [](const char* name, TensorOrigin origin, const char* canonical,
                         FileRole role = FileRole::kModel) {
    const CanonicalName result = CanonicalizePath(name, role);
    EXPECT_EQ(result.origin, origin) << name;
    EXPECT_EQ(result.name, canonical) << name;
  };
  expect("model.language_model.norm.weight", TensorOrigin::kText, "norm.weight");
  expect("language_model.model.norm.weight", TensorOrigin::kText, "norm.weight");
  expect("model.norm.weight", TensorOrigin::kText, "norm.weight");
  expect("lm_head.weight", TensorOrigin::kText, "lm_head.weight");
  expect("language_model.lm_head.scales", TensorOrigin::kText, "lm_head.scales");
  expect("mtp.norm.weight", TensorOrigin::kMtpRaw, "mtp.norm.weight");
  expect("language_model.mtp.norm.weight", TensorOrigin::kMtpConverted, "mtp.norm.weight");
  expect("norm.weight", TensorOrigin::kMtpConverted, "mtp.norm.weight", FileRole::kDrafter);
  expect("mtp.norm.weight", TensorOrigin::kMtpRaw, "mtp.norm.weight", FileRole::kDrafter);
  expect("model.visual.patch.weight", TensorOrigin::kVision, "model.visual.patch.weight");
  expect("vision_tower.patch.weight", TensorOrigin::kVision, "vision_tower.patch.weight");
  expect("norm.weight", TensorOrigin::kUnknown, "norm.weight");
}

}  // namespace
}  // namespace verbatim
