// Where MTP weights come from: the checkpoint, a file beside it, a drafter folder, or nowhere.
#include "checkpoint/mtp_source.h"

#include <gtest/gtest.h>

#include "checkpoint/expect_error.h"
#include "checkpoint/loader.h"
#include "checkpoint/synthetic.h"

namespace verbatim {
namespace {

using nlohmann::json;
using testing::ConfigJson;
using testing::ExpectError;
using testing::MakeTensor;
using testing::ModelSpec;
using testing::QuantizeTensor;
using testing::RawTensors;
using testing::SafetensorsBytes;
using testing::TempFolder;
using testing::TensorMap;
using testing::TensorValues;
using testing::ToDrafter;
using testing::WeightsDifference;
using testing::WriteFile;
using testing::WriteModel;

class MtpSource : public ::testing::Test {
 protected:
  MtpSource() : raw_(RawTensors(spec_)), config_(ConfigJson(spec_)) {
    for (const auto& [name, tensor] : raw_) {
      (name.starts_with("mtp.") ? mtp_ : text_)[name] = tensor;
    }
    model_ = folder_.path() / "model";
    drafter_ = folder_.path() / "drafter";
    WriteModel(folder_.path() / "whole", config_, raw_);
    WriteModel(model_, config_, text_);
    drafter_config_ = {
        {"model_type", "qwen3_5_mtp"}, {"text_config", config_["text_config"]}, {"block_size", 3}};
  }
  Expected<Checkpoint> Load(bool want, bool with_drafter = false) {
    LoadOptions options;
    options.model = model_.string();
    options.want_mtp = want;
    if (with_drafter) options.draft_model = drafter_.string();
    return LoadCheckpoint(options);
  }
  // The difference to the checkpoint that has everything in one file.
  std::string Difference(const Checkpoint& checkpoint) {
    const auto whole = testing::LoadFolder(folder_.path() / "whole");
    return whole.ok() ? WeightsDifference(whole->weights, checkpoint.weights)
                      : whole.status().message();
  }

  ModelSpec spec_;
  TensorMap raw_;
  TensorMap mtp_;
  TensorMap text_;
  json config_;
  json drafter_config_;
  TempFolder folder_;
  std::filesystem::path model_;
  std::filesystem::path drafter_;
};

// Pitfall 10: the config's claim is no promise.
TEST_F(MtpSource, AbsentLoadsWithoutAndSaysWhereItLooked) {
  const auto checkpoint = Load(/*want=*/false);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_FALSE(checkpoint->has_mtp);
  EXPECT_THAT(checkpoint->mtp_source,
              ::testing::HasSubstr("no mtp.* tensors in model.safetensors"));
  ExpectError(Load(/*want=*/true), StatusCode::kNotFound,
              {model_.string(), "MTP weights", "no mtp.* tensors in model.safetensors"});
}

TEST_F(MtpSource, FileBesideTheModel) {
  WriteFile(model_ / "goldens.safetensors", SafetensorsBytes({{"x", {"U8", {1}, "a"}}}));
  WriteFile(model_ / "mtp.safetensors", SafetensorsBytes(mtp_));
  const auto checkpoint = Load(/*want=*/true);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->mtp_source, "mtp.safetensors");
  EXPECT_EQ(Difference(*checkpoint), "");
}

TEST_F(MtpSource, UnreadableFileBesideTheModelIsNamedInTheReason) {
  WriteFile(model_ / "mtp.safetensors", "damaged");
  EXPECT_TRUE(Load(/*want=*/false).ok());
  ExpectError(Load(/*want=*/true), StatusCode::kNotFound,
              {"mtp.safetensors is unreadable", "at least 8 bytes"});
}

TEST_F(MtpSource, TwoFilesBesideTheModel) {
  WriteFile(model_ / "mtp.safetensors", SafetensorsBytes(mtp_));
  WriteFile(model_ / "old-mtp.safetensors", SafetensorsBytes(mtp_));
  ExpectError(Load(/*want=*/false), StatusCode::kCorrupt,
              {"mtp.safetensors and old-mtp.safetensors"});
}

TEST_F(MtpSource, IncompleteHeadIsAnErrorEvenIfNotWanted) {
  mtp_.erase("mtp.layers.0.self_attn.k_norm.weight");
  WriteFile(model_ / "mtp.safetensors", SafetensorsBytes(mtp_));
  ExpectError(Load(/*want=*/false), StatusCode::kNotFound,
              {"mtp.safetensors", "mtp.layers.0.self_attn.k_norm.weight"});
}

TEST_F(MtpSource, DrafterFolder) {
  WriteModel(drafter_, drafter_config_, ToDrafter(raw_));
  const auto checkpoint = Load(/*want=*/false, /*with_drafter=*/true);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_TRUE(checkpoint->has_mtp);
  EXPECT_EQ(checkpoint->mtp_source, "drafter folder " + drafter_.string());
  EXPECT_EQ(Difference(*checkpoint), "");
}

TEST_F(MtpSource, DrafterFolderWithRawTensors) {
  WriteModel(drafter_, drafter_config_, mtp_);
  const auto checkpoint = Load(/*want=*/true, /*with_drafter=*/true);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(Difference(*checkpoint), "");
}

TEST_F(MtpSource, QuantizedDrafterFolder) {
  TensorMap tensors = ToDrafter(raw_);
  QuantizeTensor(&tensors, "fc", 8, 64);
  QuantizeTensor(&tensors, "layers.0.mlp.up_proj", 4, 64);
  drafter_config_["quantization"] = {{"bits", 4}, {"group_size", 64}, {"fc", {{"bits", 8}}}};
  WriteModel(drafter_, drafter_config_, tensors);
  const auto checkpoint = Load(/*want=*/true, /*with_drafter=*/true);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ((*checkpoint->weights.Matrix("mtp.fc"))->format.bits, 8);
  drafter_config_["quantization"].erase("fc");
  WriteModel(drafter_, drafter_config_, tensors);
  ExpectError(Load(/*want=*/true, /*with_drafter=*/true), StatusCode::kCorrupt,
              {"fc.weight", "4 bits in groups of 64", "8 bits"});
}

// Another tool's head inside an MLX checkpoint: the model's block does not speak for it.
TEST_F(MtpSource, HeadWithABlockOfItsOwn) {
  TensorMap tensors = raw_;
  QuantizeTensor(&tensors, "mtp.fc", 8, 64);
  config_["quantization"] = {{"bits", 4}, {"group_size", 64}};
  WriteModel(model_, config_, tensors);
  ExpectError(Load(/*want=*/true), StatusCode::kCorrupt, {"mtp.fc.weight", "4 bits", "8 bits"});
  config_["mtplx_mtp_quantization"] = {{"bits", 8}, {"group_size", 64}};
  WriteModel(model_, config_, tensors);
  const auto checkpoint = Load(/*want=*/true);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ((*checkpoint->weights.Matrix("mtp.fc"))->format.bits, 8);
}

// Pitfall 13: a drafter of another type than its target.
TEST_F(MtpSource, DrafterOfAnotherType) {
  TensorMap tensors;
  for (const auto& [name, tensor] : ToDrafter(raw_)) {
    tensors[name] = MakeTensor("F16", tensor.shape, TensorValues(tensor));
  }
  WriteModel(drafter_, drafter_config_, tensors);
  const auto checkpoint = Load(/*want=*/true, /*with_drafter=*/true);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ((*checkpoint->weights.Matrix("mtp.fc"))->format.type, WeightType::kF16);
}

TEST_F(MtpSource, DrafterOfAnotherModel) {
  ModelSpec other;
  other.hidden_size = 128;
  WriteModel(drafter_, drafter_config_, ToDrafter(RawTensors(other)));
  ExpectError(Load(/*want=*/true, /*with_drafter=*/true), StatusCode::kCorrupt,
              {drafter_.string(), "[64, 128]", "[128, 256]", model_.string()});
  drafter_config_["model_type"] = "gemma4_assistant";
  WriteModel(drafter_, drafter_config_, ToDrafter(raw_));
  ExpectError(Load(/*want=*/true, /*with_drafter=*/true), StatusCode::kUnsupported,
              {"model_type", "qwen3_5_mtp", "gemma4_assistant"});
}

TEST_F(MtpSource, UnsupportedVariantsLoadWithoutMtp) {
  config_["text_config"]["mtp_use_dedicated_embeddings"] = true;
  WriteModel(model_, config_, raw_);
  ASSERT_TRUE(Load(/*want=*/false).ok());
  EXPECT_FALSE(Load(/*want=*/false)->has_mtp);
  ExpectError(Load(/*want=*/true), StatusCode::kUnsupported, {"mtp_use_dedicated_embeddings"});
  config_["text_config"].erase("mtp_use_dedicated_embeddings");
  config_["text_config"]["mtp_num_hidden_layers"] = 2;
  WriteModel(model_, config_, raw_);
  ExpectError(Load(/*want=*/true), StatusCode::kUnsupported, {"2 MTP layers"});
}

}  // namespace
}  // namespace verbatim
