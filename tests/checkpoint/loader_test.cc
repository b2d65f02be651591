// From a folder to weights: layouts give equal weights, and one test per fault of a checkpoint.
#include "checkpoint/loader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/expect_error.h"
#include "checkpoint/mlx_affine.h"
#include "checkpoint/synthetic.h"

namespace verbatim {
namespace {

using nlohmann::json;
using testing::ConfigJson;
using testing::ExpectError;
using testing::FileTensor;
using testing::LoadFolder;
using testing::MakeTensor;
using testing::ModelSpec;
using testing::QuantizeTensor;
using testing::RawTensors;
using testing::SafetensorsBytes;
using testing::TempFolder;
using testing::TensorMap;
using testing::TensorValues;
using testing::ToMlx;
using testing::WeightsDifference;
using testing::WriteFile;
using testing::WriteModel;

const std::string kUp = "model.language_model.layers.0.mlp.up_proj";
const std::string kMlxUp = "language_model.model.layers.0.mlp.up_proj";

Expected<Checkpoint> Load(const json& config, const TensorMap& tensors) {
  const TempFolder folder;  // the mappings survive the removal of their files
  WriteModel(folder.path(), config, tensors);
  return LoadFolder(folder.path());
}

TEST(Loader, ReadsARawModel) {
  const ModelSpec spec;
  const TensorMap raw = RawTensors(spec);
  const auto checkpoint = Load(ConfigJson(spec), raw);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->layout, "huggingface");
  EXPECT_TRUE(checkpoint->has_mtp);
  EXPECT_EQ(checkpoint->mtp_source, "model.safetensors");
  EXPECT_EQ(checkpoint->weight_types, "bf16 (40 tensors)");
  EXPECT_TRUE(checkpoint->unexpected_tensors.empty());
  EXPECT_FALSE(checkpoint->weights.Contains("lm_head"));

  const WeightMatrix& up = **checkpoint->weights.Matrix("layers.0.mlp.up_proj");
  EXPECT_EQ(up.rows, 96);
  EXPECT_EQ(up.cols, 64);
  std::vector<float> row(64);
  DequantizeRow(up, 5, row);
  const std::vector<float> values = TensorValues(raw.at(kUp + ".weight"));
  EXPECT_TRUE(std::equal(row.begin(), row.end(), values.begin() + 5 * 64));

  // Norms are 1 + w in binary32; the gated norm of linear attention is not shifted (pitfall 2).
  const auto expect_shift = [&](const char* canonical, const std::string& name, float shift) {
    const std::vector<float> stored = TensorValues(raw.at(name));
    const auto vector = checkpoint->weights.Vector(canonical);
    ASSERT_TRUE(vector.ok()) << canonical;
    for (size_t i = 0; i < stored.size(); ++i) {
      EXPECT_EQ((*vector)->values[i], shift + stored[i]) << canonical;
    }
  };
  expect_shift("norm", "model.language_model.norm.weight", 1);
  expect_shift("layers.3.self_attn.q_norm", "model.language_model.layers.3.self_attn.q_norm.weight",
               1);
  expect_shift("mtp.pre_fc_norm_hidden", "mtp.pre_fc_norm_hidden.weight", 1);
  expect_shift("layers.0.linear_attn.norm", "model.language_model.layers.0.linear_attn.norm.weight",
               0);
  EXPECT_EQ((*checkpoint->weights.Vector("layers.0.linear_attn.conv1d"))->shape,
            (std::vector<int64_t>{128, 4}));
}

// Pitfall 1: the layout decides about norms, never the presence of mtp.*.
TEST(Loader, AllLayoutsGiveTheSameWeights) {
  const ModelSpec spec;
  const TensorMap raw = RawTensors(spec);
  const TensorMap mlx = ToMlx(raw);
  TensorMap mlx_with_raw_mtp = mlx;
  TensorMap mlx_with_converted_mtp = mlx;
  for (const auto& [name, tensor] : raw) {
    if (name.starts_with("mtp.")) mlx_with_raw_mtp[name] = tensor;
  }
  for (const auto& [name, tensor] : testing::ToDrafter(raw)) {
    mlx_with_converted_mtp["language_model.mtp." + name] = tensor;
  }
  TensorMap flat;
  for (const auto& [name, tensor] : raw) {
    const std::string prefix = "model.language_model.";
    flat[name.starts_with(prefix) ? "model." + name.substr(prefix.size()) : name] = tensor;
  }
  const json config = ConfigJson(spec);
  const auto reference = Load(config, raw);
  ASSERT_TRUE(reference.ok());
  for (const TensorMap* tensors : {&mlx_with_raw_mtp, &mlx_with_converted_mtp}) {
    const auto other = Load(config, *tensors);
    ASSERT_TRUE(other.ok()) << other.status().message();
    EXPECT_EQ(other->layout, "mlx");
    EXPECT_EQ(WeightsDifference(reference->weights, other->weights), "");
  }
  json flat_config = config["text_config"];
  const auto text_only = Load(flat_config, flat);
  ASSERT_TRUE(text_only.ok()) << text_only.status().message();
  EXPECT_EQ(WeightsDifference(reference->weights, text_only->weights), "");

  // Without mtp.* the text weights are the same too.
  auto no_mtp = Load(config, mlx);
  ASSERT_TRUE(no_mtp.ok()) << no_mtp.status().message();
  EXPECT_FALSE(no_mtp->has_mtp);
  ModelWeights text = reference->weights;
  std::erase_if(text.matrices, [](const auto& item) { return item.first.starts_with("mtp."); });
  std::erase_if(text.vectors, [](const auto& item) { return item.first.starts_with("mtp."); });
  EXPECT_EQ(WeightsDifference(text, no_mtp->weights), "");
}

// Pitfall 6: A_log and all others in any float type.
TEST(Loader, EveryFloatTypePerTensor) {
  for (const char* dtype : {"F32", "BF16", "F16"}) {
    ModelSpec spec;
    spec.dtype = dtype;
    TensorMap raw = RawTensors(spec);
    const std::string a_log = "model.language_model.layers.0.linear_attn.A_log";
    raw[a_log] = MakeTensor("BF16", {4}, std::vector<float>{0.5f, 1, -1, 2});
    const auto checkpoint = Load(ConfigJson(spec), raw);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    const auto values = checkpoint->weights.Vector("layers.0.linear_attn.A_log");
    EXPECT_EQ((*values)->values, (std::vector<float>{0.5f, 1, -1, 2}));
    EXPECT_EQ((*values)->stored_as, WeightType::kBF16);
    std::vector<float> row(64);
    DequantizeRow(**checkpoint->weights.Matrix("embed_tokens"), 0, row);
    const auto stored = TensorValues(raw.at("model.language_model.embed_tokens.weight"));
    EXPECT_TRUE(std::equal(row.begin(), row.end(), stored.begin())) << dtype;
  }
}

TEST(Loader, VisionTowerIsSkippedAndTheUnknownIsListed) {
  const ModelSpec spec;
  TensorMap raw = RawTensors(spec);
  raw["model.visual.patch_embed.weight"] = {"F8_E4M3", {2}, "ab"};
  raw["model.language_model.layers.0.rotary.inv_freq"] = {"F32", {1}, "abcd"};
  raw["extra"] = {"U8", {1}, "a"};
  const auto checkpoint = Load(ConfigJson(spec), raw);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->num_vision_tensors, 1);
  EXPECT_EQ(checkpoint->unexpected_tensors,
            (std::vector<std::string>{"extra", "model.language_model.layers.0.rotary.inv_freq"}));
}

// Pitfall 11.
TEST(Loader, TiedDropsAStaleHeadAndUntiedNeedsOne) {
  ModelSpec spec;
  spec.tied = false;
  TensorMap raw = RawTensors(spec);
  auto untied = Load(ConfigJson(spec), raw);
  ASSERT_TRUE(untied.ok()) << untied.status().message();
  EXPECT_TRUE(untied->weights.Contains("lm_head"));
  spec.tied = true;
  auto tied = Load(ConfigJson(spec), raw);
  ASSERT_TRUE(tied.ok()) << tied.status().message();
  EXPECT_FALSE(tied->weights.Contains("lm_head"));
  EXPECT_TRUE(tied->unexpected_tensors.empty());
  raw.erase("lm_head.weight");
  spec.tied = false;
  ExpectError(Load(ConfigJson(spec), raw), StatusCode::kNotFound,
              {"tensor lm_head.weight of shape [96, 64]", "config.json", "no such tensor"});
}

TEST(Loader, EveryMissingTensorIsNamed) {
  const ModelSpec spec;
  const TensorMap raw = RawTensors(spec);
  for (const char* name : {"embed_tokens.weight", "norm.weight", "layers.1.linear_attn.A_log",
                           "layers.3.self_attn.q_proj.weight", "layers.0.mlp.down_proj.weight"}) {
    TensorMap damaged = raw;
    ASSERT_EQ(damaged.erase(std::string("model.language_model.") + name), 1u);
    ExpectError(Load(ConfigJson(spec), damaged), StatusCode::kNotFound,
                {std::string("tensor ") + name, "no such tensor"});
  }
}

TEST(Loader, ConfigThatContradictsTheTensorsNamesBoth) {
  const ModelSpec spec;
  const TensorMap raw = RawTensors(spec);
  json config = ConfigJson(spec);
  config["text_config"]["intermediate_size"] = 128;
  ExpectError(Load(config, raw), StatusCode::kCorrupt,
              {"model.safetensors: model.language_model.layers.0.mlp.gate_proj.weight",
               "config.json says ([intermediate_size, hidden_size])", "[128, 64]", "[96, 64]"});
  config = ConfigJson(spec);
  config["text_config"]["num_hidden_layers"] = 3;
  config["text_config"]["layer_types"].erase(3);
  ExpectError(Load(config, raw), StatusCode::kCorrupt,
              {"model.language_model.layers.3.", "layers below 3", "num_hidden_layers", "layer 3"});
  config = ConfigJson(spec);
  config["text_config"]["layer_types"][3] = "linear_attention";
  ExpectError(Load(config, raw), StatusCode::kNotFound, {"layers.3.linear_attn."});
}

TEST(Loader, WrongDtype) {
  const ModelSpec spec;
  TensorMap raw = RawTensors(spec);
  raw[kUp + ".weight"] = {"F8_E4M3", {96, 64}, std::string(96 * 64, 'x')};
  ExpectError(Load(ConfigJson(spec), raw), StatusCode::kUnsupported,
              {kUp + ".weight", "F32, BF16, F16 or MLX affine", "F8_E4M3"});
  raw = RawTensors(spec);
  raw["model.language_model.norm.weight"] = {"I16", {64}, std::string(128, 'x')};
  ExpectError(Load(ConfigJson(spec), raw), StatusCode::kUnsupported, {"norm.weight", "I16"});
}

TEST(Loader, NonFiniteVector) {
  const ModelSpec spec;
  TensorMap raw = RawTensors(spec);
  raw["model.language_model.layers.0.linear_attn.dt_bias"] =
      MakeTensor("BF16", {4}, std::vector<float>{0, 0, INFINITY, 0});
  ExpectError(Load(ConfigJson(spec), raw), StatusCode::kCorrupt,
              {"dt_bias", "finite", "inf at element 2"});
}

TEST(Loader, ConvolutionsOfTwoLayouts) {
  const ModelSpec spec;
  TensorMap raw = RawTensors(spec);
  FileTensor& conv = raw["model.language_model.layers.1.linear_attn.conv1d.weight"];
  conv.shape = {128, 4, 1};
  ExpectError(Load(ConfigJson(spec), raw), StatusCode::kCorrupt,
              {"layers.1.linear_attn.conv1d", "layout of", "[128, 1, 4]", "[128, 4, 1]"});
  conv.shape = {128, 4};
  ExpectError(Load(ConfigJson(spec), raw), StatusCode::kCorrupt,
              {"layers.1.linear_attn.conv1d", "[128, 4]"});
}

TEST(Loader, OneTensorUnderTwoPrefixes) {
  const ModelSpec spec;
  TensorMap raw = RawTensors(spec);
  raw["model.norm.weight"] = raw["model.language_model.norm.weight"];
  ExpectError(Load(ConfigJson(spec), raw), StatusCode::kCorrupt,
              {"one tensor for norm.weight", "model.language_model.norm.weight"});
}

TEST(Loader, BrokenConfigFiles) {
  const ModelSpec spec;
  const TempFolder folder;
  ExpectError(LoadFolder(folder.path()), StatusCode::kNotFound, {"config.json"});
  WriteFile(folder.path() / "config.json", "{\"model_type\": \"qwen3_5\"");
  ExpectError(LoadFolder(folder.path()), StatusCode::kCorrupt, {"config.json", "valid JSON"});
  WriteFile(folder.path() / "config.json", "[]");
  ExpectError(LoadFolder(folder.path()), StatusCode::kCorrupt, {"config.json", "a JSON object"});
  WriteFile(folder.path() / "config.json", ConfigJson(spec).dump());
  ExpectError(LoadFolder(folder.path()), StatusCode::kNotFound,
              {"model.safetensors.index.json or model.safetensors", "neither"});
  WriteModel(folder.path(), ConfigJson(spec), RawTensors(spec));
  WriteFile(folder.path() / "generation_config.json", "{");
  ExpectError(LoadFolder(folder.path()), StatusCode::kCorrupt, {"generation_config.json"});
  ExpectError(LoadFolder(folder.path() / "config.json"), StatusCode::kInvalidArgument,
              {"a folder", "a file"});
}

// --- Quantized checkpoints ---

json QuantizedConfig(const ModelSpec& spec, int bits, int group_size) {
  json config = ConfigJson(spec);
  config["quantization"] = {{"bits", bits}, {"group_size", group_size}, {"mode", "affine"}};
  return config;
}

TEST(LoaderAffine, EveryBitsAndGroup) {
  ModelSpec spec;
  spec.intermediate_size = 128;
  const TensorMap mlx = ToMlx(RawTensors(spec));
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      TensorMap tensors = mlx;
      // down_proj has 128 columns.
      const std::string path = "language_model.model.layers.0.mlp.down_proj";
      QuantizeTensor(&tensors, path, bits, group);
      const auto checkpoint = Load(QuantizedConfig(spec, bits, group), tensors);
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
      const WeightMatrix& matrix = **checkpoint->weights.Matrix("layers.0.mlp.down_proj");
      EXPECT_EQ(matrix.format, (WeightFormat{WeightType::kAffine, bits, group, WeightType::kBF16}));
      EXPECT_EQ(matrix.cols, 128);
    }
  }
}

// Pitfalls 7 and 8: fused siblings of different widths, overrides under the other prefix.
TEST(LoaderAffine, MixedWidthsWithOverrides) {
  const ModelSpec spec;
  TensorMap tensors = ToMlx(RawTensors(spec));
  const std::string a = "language_model.model.layers.0.linear_attn.";
  QuantizeTensor(&tensors, a + "in_proj_z", 8, 64);
  QuantizeTensor(&tensors, a + "in_proj_qkv", 4, 32);
  json config = QuantizedConfig(spec, 4, 32);
  config["quantization"]["model.language_model.layers.0.linear_attn.in_proj_z"] = {
      {"bits", 8}, {"group_size", 64}};
  config["quantization_config"] = config["quantization"];
  const auto checkpoint = Load(config, tensors);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ((*checkpoint->weights.Matrix("layers.0.linear_attn.in_proj_z"))->format.bits, 8);
  EXPECT_EQ((*checkpoint->weights.Matrix("layers.0.linear_attn.in_proj_qkv"))->format.bits, 4);
  EXPECT_EQ((*checkpoint->weights.Matrix("layers.0.linear_attn.in_proj_a"))->format.type,
            WeightType::kBF16);
  EXPECT_EQ(checkpoint->weight_types,
            "bf16 (30 tensors), affine 4-bit g32 (1 tensor), affine 8-bit g64 (1 tensor)");
}

TEST(LoaderAffine, ScalesOfEveryFloatType) {
  for (const char* dtype : {"F32", "BF16", "F16"}) {
    ModelSpec spec;
    spec.dtype = dtype;
    TensorMap tensors = ToMlx(RawTensors(spec));
    QuantizeTensor(&tensors, kMlxUp, 4, 64);
    const auto checkpoint = Load(QuantizedConfig(spec, 4, 64), tensors);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  }
}

class AffineFault : public ::testing::Test {
 protected:
  AffineFault() : tensors_(ToMlx(RawTensors(spec_))), config_(QuantizedConfig(spec_, 4, 64)) {
    QuantizeTensor(&tensors_, kMlxUp, 4, 64);
  }
  Expected<Checkpoint> LoadIt() { return Load(config_, tensors_); }

  ModelSpec spec_;
  TensorMap tensors_;
  json config_;
};

TEST_F(AffineFault, NanScale) {
  FileTensor& scales = tensors_[kMlxUp + ".scales"];
  std::vector<float> values = TensorValues(scales);
  values[7] = NAN;
  scales = MakeTensor("BF16", scales.shape, values);
  ExpectError(LoadIt(), StatusCode::kCorrupt,
              {kMlxUp + ".scales", "finite values", "nan at element 7"});
}

TEST_F(AffineFault, InfiniteBias) {
  FileTensor& biases = tensors_[kMlxUp + ".biases"];
  std::vector<float> values = TensorValues(biases);
  values[0] = -INFINITY;
  biases = MakeTensor("BF16", biases.shape, values);
  ExpectError(LoadIt(), StatusCode::kCorrupt, {kMlxUp + ".biases", "-inf at element 0"});
}

TEST_F(AffineFault, MissingScalesOrBiases) {
  TensorMap saved = tensors_;
  tensors_.erase(kMlxUp + ".biases");
  ExpectError(LoadIt(), StatusCode::kNotFound, {"layers.0.mlp.up_proj.biases"});
  tensors_ = saved;
  tensors_.erase(kMlxUp + ".scales");
  ExpectError(LoadIt(), StatusCode::kNotFound, {"layers.0.mlp.up_proj.scales"});
}

TEST_F(AffineFault, WordsOfAnotherShape) {
  FileTensor& weight = tensors_[kMlxUp + ".weight"];
  weight = {"U32", {96, 7}, std::string(96 * 7 * 4, 'x')};
  ExpectError(LoadIt(), StatusCode::kCorrupt, {kMlxUp + ".weight", "words of", "[96, 7]"});
  weight = {"I32", {96, 8}, std::string(96 * 8 * 4, 'x')};
  ExpectError(LoadIt(), StatusCode::kUnsupported, {kMlxUp + ".weight", "U32", "I32"});
}

TEST_F(AffineFault, ScalesOfAnotherShapeOrType) {
  FileTensor& scales = tensors_[kMlxUp + ".scales"];
  const FileTensor saved = scales;
  scales.shape = {1, 96};
  ExpectError(LoadIt(), StatusCode::kCorrupt, {kMlxUp + ".scales", "[1, 96]"});
  scales = {"U8", {96, 1}, std::string(96, 'x')};  // as mxfp4 has them
  ExpectError(LoadIt(), StatusCode::kUnsupported, {kMlxUp + ".scales", "U8"});
  scales = MakeTensor("F16", saved.shape, TensorValues(saved));
  ExpectError(LoadIt(), StatusCode::kCorrupt, {kMlxUp + ".biases", "type of the scales"});
}

TEST_F(AffineFault, ConfigSaysOtherBits) {
  config_["quantization"]["bits"] = 8;
  ExpectError(
      LoadIt(), StatusCode::kCorrupt,
      {kMlxUp + ".weight", "8 bits in groups of 64", "config.json says", "4 bits in groups of 64"});
}

TEST_F(AffineFault, ConfigSaysOtherGroup) {
  config_["quantization"][kMlxUp] = {{"group_size", 32}};
  ExpectError(LoadIt(), StatusCode::kCorrupt, {kMlxUp, "4 bits in groups of 32"});
}

TEST_F(AffineFault, ConfigSaysNotQuantized) {
  config_["quantization"][kMlxUp] = false;
  ExpectError(LoadIt(), StatusCode::kCorrupt, {kMlxUp, "no quantization as"});
  config_.erase("quantization");
  ExpectError(LoadIt(), StatusCode::kCorrupt, {kMlxUp, "has no quantization block"});
}

// --- Shards ---

class Shards : public ::testing::Test {
 protected:
  Shards() {
    const TensorMap raw = RawTensors(spec_);
    size_t i = 0;
    for (const auto& [name, tensor] : raw) {
      const int shard = i++ % 2;
      parts_[shard][name] = tensor;
      index_["weight_map"][name] = kNames[shard];
    }
  }
  Expected<Checkpoint> Write() {
    WriteFile(folder_.path() / "config.json", ConfigJson(spec_).dump());
    for (int i = 0; i < 2; ++i) {
      WriteFile(folder_.path() / kNames[i], SafetensorsBytes(parts_[i]));
    }
    return LoadIndexed();
  }
  Expected<Checkpoint> LoadIndexed() {
    WriteFile(folder_.path() / "model.safetensors.index.json", index_.dump());
    return LoadFolder(folder_.path());
  }

  static constexpr const char* kNames[] = {"model-00001-of-00002.safetensors",
                                           "model-00002-of-00002.safetensors"};
  ModelSpec spec_;
  TempFolder folder_;
  TensorMap parts_[2];
  json index_;
};

TEST_F(Shards, EqualTheSingleFile) {
  const auto sharded = Write();
  ASSERT_TRUE(sharded.ok()) << sharded.status().message();
  const auto single = Load(ConfigJson(spec_), RawTensors(spec_));
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(WeightsDifference(single->weights, sharded->weights), "");
}

TEST_F(Shards, MissingShard) {
  ASSERT_TRUE(Write().ok());
  std::filesystem::remove(folder_.path() / kNames[1]);
  ExpectError(LoadIndexed(), StatusCode::kNotFound,
              {"index.json", std::string("shard ") + kNames[1], "completing the download"});
}

TEST_F(Shards, StaleIndexBesideASingleFile) {
  ASSERT_TRUE(Write().ok());
  for (const char* name : kNames) std::filesystem::remove(folder_.path() / name);
  WriteFile(folder_.path() / "model.safetensors", SafetensorsBytes(RawTensors(spec_)));
  ExpectError(LoadIndexed(), StatusCode::kNotFound,
              {"index.json", kNames[0], "removing the stale model.safetensors.index.json"});
}

TEST_F(Shards, IndexNamesATensorThatIsNowhere) {
  index_["weight_map"]["model.language_model.ghost"] = kNames[0];
  ExpectError(Write(), StatusCode::kCorrupt,
              {"index.json", "tensor model.language_model.ghost", "it in no shard"});
}

TEST_F(Shards, IndexNamesTheWrongShard) {
  index_["weight_map"]["mtp.fc.weight"] =
      index_["weight_map"]["mtp.fc.weight"] == kNames[0] ? kNames[1] : kNames[0];
  ExpectError(Write(), StatusCode::kCorrupt, {"index.json", "tensor mtp.fc.weight in", "it in"});
}

TEST_F(Shards, TensorInTwoShards) {
  parts_[0]["both"] = {"U8", {1}, "a"};
  parts_[1]["both"] = {"U8", {1}, "a"};
  ExpectError(Write(), StatusCode::kCorrupt, {"both", "each tensor in one shard", kNames[0]});
}

TEST_F(Shards, NamesThatLeaveTheFolder) {
  for (const char* name : {"../x.safetensors", "/x.safetensors", "a/b.safetensors", "..", ""}) {
    index_["weight_map"]["mtp.fc.weight"] = name;
    WriteFile(folder_.path() / "config.json", ConfigJson(spec_).dump());
    ExpectError(LoadIndexed(), StatusCode::kCorrupt,
                {"weight_map.mtp.fc.weight", "the name of a file in the model's folder"});
  }
}

TEST_F(Shards, BrokenIndex) {
  WriteFile(folder_.path() / "config.json", ConfigJson(spec_).dump());
  index_ = {{"weight_map", json::object()}};
  ExpectError(LoadIndexed(), StatusCode::kCorrupt, {"weight_map", "at least one tensor"});
  index_ = json::object();
  ExpectError(LoadIndexed(), StatusCode::kCorrupt, {"weight_map", "no such key"});
}

}  // namespace
}  // namespace verbatim
