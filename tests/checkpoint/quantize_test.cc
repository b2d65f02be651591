// The quantize verb's library: what it writes, that it repeats, and that nothing half-done stays.
#include "checkpoint/quantize.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "checkpoint/expect_error.h"
#include "checkpoint/inspect.h"
#include "checkpoint/loader.h"
#include "checkpoint/mlx_affine.h"
#include "checkpoint/synthetic.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ConfigJson;
using testing::ExpectError;
using testing::LoadFolder;
using testing::ModelSpec;
using testing::RawTensors;
using testing::ReadFile;
using testing::TempFolder;
using testing::TensorMap;
using testing::WeightsDifference;
using testing::WriteFile;
using testing::WriteModel;

QuantizeOverride Override(std::string_view text) {
  auto parsed = ParseQuantizeOverride(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return *parsed;
}

class Quantize : public ::testing::Test {
 protected:
  Quantize() : input_(folder_.path() / "in") {
    WriteModel(input_, ConfigJson(spec_), RawTensors(spec_));
    WriteFile(input_ / "tokenizer.json", "tokens");
    WriteFile(input_ / "generation_config.json", "{\"eos_token_id\": 3}");
    WriteFile(input_ / "chat_template.jinja", "chat");
  }
  QuantizeOptions Options(const std::string& name, std::vector<QuantizeOverride> overrides = {}) {
    QuantizeOptions options;
    options.model = input_.string();
    options.output = folder_.path() / name;
    options.parameters = {4, 32};
    options.overrides = std::move(overrides);
    return options;
  }

  ModelSpec spec_;
  TempFolder folder_;
  fs::path input_;
};

TEST_F(Quantize, WritesACheckpointThatLoadsTheSame) {
  const auto report =
      QuantizeCheckpoint(Options("out", {Override("embed_tokens=8/64"), Override("mtp.fc=none"),
                                         Override("*.self_attn.q_proj=6")}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->has_mtp);
  EXPECT_EQ(report->kept, std::vector<std::string>{"mtp.fc (as asked)"});
  const auto before = LoadFolder(input_);
  const auto after = LoadFolder(folder_.path() / "out");
  ASSERT_TRUE(before.ok());
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(after->layout, "mlx");
  EXPECT_EQ(after->mtp_source, "model.safetensors");
  EXPECT_EQ(after->config.eos_token_ids, before->config.eos_token_ids);
  const auto format = [&](const char* name) {
    return FormatName((*after->weights.Matrix(name))->format);
  };
  EXPECT_EQ(format("embed_tokens"), "affine 8-bit g64");
  EXPECT_EQ(format("layers.0.mlp.up_proj"), "affine 4-bit g32");
  EXPECT_EQ(format("layers.3.self_attn.q_proj"), "affine 6-bit g32");
  EXPECT_EQ(format("mtp.layers.0.self_attn.q_proj"), "affine 6-bit g32");
  EXPECT_EQ(format("mtp.fc"), "bf16");
  // Every norm, convolution and gate vector survives exactly, MTP included.
  for (const auto& [name, vector] : before->weights.vectors) {
    EXPECT_EQ((*after->weights.Vector(name))->values, vector.values) << name;
    EXPECT_EQ((*after->weights.Vector(name))->shape, vector.shape) << name;
  }
  EXPECT_EQ(ReadFile(folder_.path() / "out" / "tokenizer.json"), "tokens");
  EXPECT_EQ(ReadFile(folder_.path() / "out" / "chat_template.jinja"), "chat");
  const json config = json::parse(ReadFile(folder_.path() / "out" / "config.json"));
  EXPECT_EQ(config["quantization"], config["quantization_config"]);
  EXPECT_EQ(config["quantization"]["language_model.model.embed_tokens"]["bits"], 8);
  EXPECT_EQ(config["quantization"]["mtp.fc"], false);
}

// A norm weight that BF16 cannot hold as 1 + w is kept in F32 instead of rounded.
TEST_F(Quantize, NormsAreNeverRounded) {
  TensorMap tensors = RawTensors(spec_);
  for (const char* name : {"model.language_model.norm.weight", "mtp.norm.weight"}) {
    std::vector<float> w(64, 0.0f);
    w[0] = 0x1.02p-6f;   // 1 + w needs 14 bits
    w[1] = 0x1.02p-30f;  // 1 + w is 1
    w[2] = -0x1.fep-1f;
    w[3] = 5.0f;
    tensors[name] = testing::MakeTensor("BF16", {64}, w);
  }
  WriteModel(input_, ConfigJson(spec_), tensors);
  ASSERT_TRUE(QuantizeCheckpoint(Options("out")).ok());
  const auto before = LoadFolder(input_);
  const auto after = LoadFolder(folder_.path() / "out");
  ASSERT_TRUE(after.ok()) << after.status().message();
  for (const char* name : {"norm", "mtp.norm"}) {
    EXPECT_EQ((*after->weights.Vector(name))->values, (*before->weights.Vector(name))->values);
  }
  EXPECT_EQ((*after->weights.Vector("norm"))->stored_as, WeightType::kF32);
}

TEST_F(Quantize, SameInputSameBytes) {
  ASSERT_TRUE(QuantizeCheckpoint(Options("a")).ok());
  ASSERT_TRUE(QuantizeCheckpoint(Options("b")).ok());
  for (const auto& entry : fs::directory_iterator(folder_.path() / "a")) {
    EXPECT_EQ(ReadFile(entry.path()), ReadFile(folder_.path() / "b" / entry.path().filename()))
        << entry.path();
  }
}

TEST_F(Quantize, AnAlreadyQuantizedInput) {
  ASSERT_TRUE(QuantizeCheckpoint(Options("a", {Override("embed_tokens=8")})).ok());
  QuantizeOptions again = Options("b", {Override("embed_tokens=8")});
  again.model = (folder_.path() / "a").string();
  ASSERT_TRUE(QuantizeCheckpoint(again).ok());
  const auto a = LoadFolder(folder_.path() / "a");
  const auto b = LoadFolder(folder_.path() / "b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(WeightsDifference(a->weights, b->weights), "");  // copied: nothing to change

  again.output = folder_.path() / "c";
  again.overrides = {Override("embed_tokens=none"), Override("mlp.up_proj=8")};
  ASSERT_TRUE(QuantizeCheckpoint(again).ok());
  const auto c = LoadFolder(folder_.path() / "c");
  ASSERT_TRUE(c.ok()) << c.status().message();
  EXPECT_EQ(FormatName((*c->weights.Matrix("embed_tokens"))->format), "bf16");
  EXPECT_EQ(FormatName((*c->weights.Matrix("layers.1.mlp.up_proj"))->format), "affine 8-bit g32");
}

TEST_F(Quantize, ColumnsThatAreNoMultipleOfTheGroupStayDense) {
  QuantizeOptions options = Options("out");
  options.parameters = {4, 64};  // intermediate_size is 96
  const auto report = QuantizeCheckpoint(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->kept.size(), 5u);  // down_proj of four layers and of the MTP layer
  EXPECT_EQ(report->kept[0], "layers.0.mlp.down_proj (96 columns are no multiple of 64)");
  const auto out = LoadFolder(folder_.path() / "out");
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_EQ(FormatName((*out->weights.Matrix("layers.0.mlp.down_proj"))->format), "bf16");
}

TEST_F(Quantize, DrafterIsMergedAndAModelWithoutMtpStaysWithout) {
  const fs::path drafter = folder_.path() / "drafter";
  WriteModel(drafter, {{"model_type", "qwen3_5_mtp"}}, testing::ToDrafter(RawTensors(spec_)));
  ModelSpec bare = spec_;
  bare.mtp = false;
  WriteModel(input_, ConfigJson(bare), testing::ToMlx(RawTensors(bare)));
  ASSERT_TRUE(QuantizeCheckpoint(Options("without")).ok());
  EXPECT_FALSE(LoadFolder(folder_.path() / "without")->has_mtp);
  QuantizeOptions options = Options("with");
  options.draft_model = drafter.string();
  ASSERT_TRUE(QuantizeCheckpoint(options).ok());
  const auto with = LoadFolder(folder_.path() / "with");
  ASSERT_TRUE(with.ok()) << with.status().message();
  EXPECT_TRUE(with->has_mtp);
  EXPECT_EQ(with->config.mtp_num_hidden_layers, 1);
}

TEST_F(Quantize, FaultsLeaveNothingBehind) {
  const auto entries = [&] {
    return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
  };
  const auto before = entries();
  ExpectError(QuantizeCheckpoint(Options("in")), StatusCode::kInvalidArgument,
              {"in]", "does not exist yet"});
  ExpectError(QuantizeCheckpoint(Options("out", {Override("nothing=8")})),
              StatusCode::kInvalidArgument, {"override", "matches a matrix", "nothing"});
  QuantizeOptions options = Options("out");
  options.parameters = {7, 64};
  ExpectError(QuantizeCheckpoint(options), StatusCode::kInvalidArgument, {"received 7"});
  options.parameters = {4, 16};
  ExpectError(QuantizeCheckpoint(options), StatusCode::kInvalidArgument, {"received 16"});
  // A NaN is met in the middle of the file.
  TensorMap tensors = RawTensors(spec_);
  tensors["model.language_model.layers.2.mlp.up_proj.weight"].bytes.replace(0, 2, "\xc0\x7f");
  WriteModel(input_, ConfigJson(spec_), tensors);
  ExpectError(QuantizeCheckpoint(Options("out")), StatusCode::kCorrupt,
              {"layers.2.mlp.up_proj.weight", "nan"});
  EXPECT_EQ(entries(), before);
}

TEST_F(Quantize, AStopLeavesNothingBehind) {
  // Before the first tensor, within the file, and after it.
  for (const int most : {0, 5, 40}) {
    QuantizeOptions options = Options("out");
    int asked = 0;
    options.stop = [&] { return asked++ >= most; };
    ExpectError(QuantizeCheckpoint(options), StatusCode::kCancelled, {"out]", "to finish"});
    EXPECT_EQ(asked, most + 1);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
  }
}

TEST_F(Quantize, AFlatConfigWithANullTextConfig) {
  json flat = ConfigJson(spec_)["text_config"];
  flat["tie_word_embeddings"] = spec_.tied;
  flat["text_config"] = nullptr;
  WriteFile(input_ / "config.json", flat.dump());
  const auto report = QuantizeCheckpoint(Options("out"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->has_mtp);
  const auto out = LoadFolder(folder_.path() / "out");
  ASSERT_TRUE(out.ok()) << out.status().message();
  EXPECT_EQ(out->config.mtp_num_hidden_layers, 1);
}

TEST_F(Quantize, OverrideSyntaxAndPatterns) {
  EXPECT_EQ(*Override("a=4").bits, 4);
  EXPECT_FALSE(Override("a=4").group_size.has_value());
  EXPECT_EQ(*Override("a=4/32").group_size, 32);
  EXPECT_FALSE(Override("a=none").bits.has_value());
  for (const char* text : {"a", "=4", "a=", "a=x", "a=4/", "a=4x"}) {
    ExpectError(ParseQuantizeOverride(text), StatusCode::kInvalidArgument, {text});
  }
  // A module, a run of last components, a glob, the file's own prefix; the last match wins.
  ASSERT_TRUE(QuantizeCheckpoint(Options("out", {Override("layers.?.mlp.*=5"),
                                                 Override("layers.1.*=6"), Override("up_proj=3"),
                                                 Override("language_model.model.embed_tokens=2")}))
                  .ok());
  const auto out = LoadFolder(folder_.path() / "out");
  const auto bits = [&](const char* name) { return (*out->weights.Matrix(name))->format.bits; };
  EXPECT_EQ(bits("layers.0.mlp.gate_proj"), 5);
  EXPECT_EQ(bits("layers.1.mlp.gate_proj"), 6);
  EXPECT_EQ(bits("layers.1.mlp.up_proj"), 3);
  EXPECT_EQ(bits("embed_tokens"), 2);
  EXPECT_EQ(bits("mtp.fc"), 4);
}

TEST_F(Quantize, InspectCountsParametersAndMemory) {
  const auto checkpoint = LoadFolder(input_);
  ASSERT_TRUE(checkpoint.ok());
  const CheckpointDescription description = DescribeCheckpoint(*checkpoint);
  int64_t parameters = 0;
  int64_t bytes = 0;
  for (const auto& [name, tensor] : RawTensors(spec_)) {
    const int64_t width = tensor.dtype == "F32" ? 4 : 2;
    bytes += static_cast<int64_t>(tensor.bytes.size());
    parameters += static_cast<int64_t>(tensor.bytes.size()) / width;
  }
  EXPECT_EQ(description.text_parameters + description.mtp_parameters, parameters);
  EXPECT_EQ(description.weight_bytes, bytes);

  const MemoryEstimate memory = EstimateMemory(*checkpoint, 257, 2, 0);
  EXPECT_EQ(memory.kv_cache, 2 * 2 * 256 * 2 * 32 * 2);  // layers, pages, slots, K and V, hd, bytes
  EXPECT_EQ(memory.recurrent_state, 3 * (64 * 16 + 3 * 128) * 4);
  EXPECT_EQ(memory.total(), bytes + memory.kv_cache + memory.recurrent_state);
  // The MTP head's slot and those of three drafts behind the last position may start a page.
  EXPECT_EQ(EstimateMemory(*checkpoint, 252, 2, 0).kv_cache * 2, memory.kv_cache);
  EXPECT_EQ(EstimateMemory(*checkpoint, 253, 2, 0).kv_cache, memory.kv_cache);
  const json text = json::parse(InspectJson(*checkpoint, 257, 2, 0));
  EXPECT_EQ(text["memory"]["not_counted"], kNotCounted);
  EXPECT_EQ(text["memory"]["total"], memory.total());
  EXPECT_EQ(text["tensors"].size(), description.tensors.size());
  EXPECT_EQ(text["config"]["hidden_size"], 64);
}

// --- The models of the repository ---

TEST(RepositoryModels, Load) {
  for (const char* name : {"nano-qwen35", "tiny-qwen35-4bit"}) {
    LoadOptions options;
    options.model = std::string(VERBATIM_SOURCE_DIR "/models/") + name;
    options.want_mtp = true;
    const auto checkpoint = LoadCheckpoint(options);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    EXPECT_EQ(checkpoint->config.eos_token_ids.size(), 2u);
    EXPECT_TRUE(checkpoint->unexpected_tensors.empty());
  }
}

// models/tiny-qwen35-4bit is what the command in its card makes.
TEST(RepositoryModels, Tiny4bitIsReproducible) {
  const char* models = std::getenv("VERBATIM_MODELS");
  const fs::path folder = models != nullptr && *models != '\0'
                              ? fs::path(models)
                              : fs::path(VERBATIM_SOURCE_DIR "/../shared/models");
  if (!fs::exists(folder / "tiny-qwen35" / "model.safetensors")) {
    GTEST_SKIP() << "needs the 16-bit model " << folder / "tiny-qwen35" << "; set VERBATIM_MODELS";
  }
  const TempFolder output;
  QuantizeOptions options;
  options.model = (folder / "tiny-qwen35").string();
  options.output = output.path() / "again";
  options.parameters = {4, 64};
  options.overrides = {Override("embed_tokens=8")};
  const auto report = QuantizeCheckpoint(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  for (const auto& entry : fs::directory_iterator(options.output)) {
    const fs::path stored =
        fs::path(VERBATIM_SOURCE_DIR "/models/tiny-qwen35-4bit") / entry.path().filename();
    EXPECT_TRUE(ReadFile(entry.path()) == ReadFile(stored)) << stored << " differs";
  }
}

}  // namespace
}  // namespace verbatim
