// Model identity: what changes the digests and what does not.
#include "checkpoint/model_identity.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "checkpoint/safetensors_writer.h"
#include "tests/support/memory_folder.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

namespace fs = std::filesystem;

class ModelIdentityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
      fs::copy_file(NanoModel() / name, folder_.path() / name);
    }
    ASSERT_EQ(Identity(), original_);
  }

  ModelIdentity Identity(int num_threads = 2) {
    auto identity = ReadModelIdentity(folder_.path().string(), num_threads);
    EXPECT_TRUE(identity.ok()) << identity.status().message();
    return identity.ok() ? *identity : ModelIdentity();
  }

  std::string ReadFile(const char* name) {
    std::ostringstream text;
    text << std::ifstream(folder_.path() / name, std::ios::binary).rdbuf();
    return text.str();
  }
  void WriteFile(const char* name, const std::string& bytes) {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
  }

  // Flips the lowest bit of one byte in the middle of a tensor.
  void DamageTensor(const std::string& name) {
    const std::string bytes = ReadFile("model.safetensors");
    const auto file = SafetensorsFile::Parse(std::as_bytes(std::span(bytes)), "nano");
    ASSERT_TRUE(file.ok());
    const TensorInfo& info = file->tensors().at(name);
    const size_t at = reinterpret_cast<const char*>(info.data.data()) - bytes.data();
    std::string damaged = bytes;
    damaged[at + info.data.size() / 2] ^= 1;
    WriteFile("model.safetensors", damaged);
  }

  // Writes the tensors `names` of the nano model to `file_name`, under other prefixes.
  void WriteShard(const char* file_name, const SafetensorsFile& from,
                  const std::vector<std::string>& names, const std::string& prefix) {
    std::vector<TensorToWrite> tensors;
    for (const std::string& name : names) {
      const TensorInfo& info = from.tensors().at(name);
      std::string renamed = name;
      constexpr std::string_view kPrefix = "model.language_model.";
      if (renamed.starts_with(kPrefix)) renamed = prefix + renamed.substr(kPrefix.size());
      tensors.push_back(TensorFromBytes(renamed, info.dtype, info.shape, info.data));
      index_[renamed] = file_name;
    }
    ASSERT_TRUE(WriteSafetensors(folder_.path() / file_name, tensors, {}).ok());
  }

  MemoryFolder folder_;
  const ModelIdentity original_ = *ReadModelIdentity(NanoModel().string(), 1);
  nlohmann::json index_;
};

TEST_F(ModelIdentityTest, ThreadsMakeNoDifference) {
  for (const int num_threads : {1, 2, 7, 400}) EXPECT_EQ(Identity(num_threads), original_);
  EXPECT_EQ(original_.model_sha256.size(), 64U);
  EXPECT_GT(original_.num_tensors, 40);
  EXPECT_GT(original_.num_bytes, 1'000'000);
}

TEST_F(ModelIdentityTest, AnyByteOfTheTargetsTensorsCounts) {
  const auto file = SafetensorsFile::Open(NanoModel() / "model.safetensors");
  ASSERT_TRUE(file.ok());
  int64_t counted = 0;
  for (const auto& [name, info] : file->tensors()) {
    SCOPED_TRACE(name);
    const std::string before = ReadFile("model.safetensors");
    DamageTensor(name);
    const ModelIdentity damaged = Identity();
    const bool is_mtp = name.starts_with("mtp.");
    EXPECT_EQ(damaged.model_sha256 == original_.model_sha256, is_mtp);
    EXPECT_EQ(damaged.config_sha256, original_.config_sha256);
    EXPECT_EQ(damaged.tokenizer_sha256, original_.tokenizer_sha256);
    counted += is_mtp ? 0 : 1;
    WriteFile("model.safetensors", before);
  }
  EXPECT_EQ(counted, original_.num_tensors);
}

TEST_F(ModelIdentityTest, ShardsAndPrefixesMakeNoDifference) {
  const auto file = SafetensorsFile::Open(NanoModel() / "model.safetensors");
  ASSERT_TRUE(file.ok());
  std::vector<std::string> halves[2];
  for (const auto& [name, info] : file->tensors()) {
    halves[halves[0].size() > halves[1].size()].push_back(name);
  }
  for (const std::string prefix : {"language_model.model.", "model."}) {
    index_ = nlohmann::json::object();
    WriteShard("a.safetensors", *file, halves[1], prefix);
    WriteShard("b.safetensors", *file, halves[0], prefix);
    WriteFile("model.safetensors.index.json", nlohmann::json{{"weight_map", index_}}.dump());
    EXPECT_EQ(Identity(), original_) << prefix;
  }
}

TEST_F(ModelIdentityTest, ConfigCountsByItsSettingsAndNotItsSpelling) {
  nlohmann::json config = nlohmann::json::parse(ReadFile("config.json"));
  config["transformers_version"] = "99.0";
  WriteFile("config.json", config.dump());
  EXPECT_EQ(Identity(), original_);
  config["text_config"]["rms_norm_eps"] = 1.5e-6;
  WriteFile("config.json", config.dump());
  const ModelIdentity other = Identity();
  EXPECT_NE(other.config_sha256, original_.config_sha256);
  EXPECT_EQ(other.model_sha256, original_.model_sha256);
}

TEST_F(ModelIdentityTest, TokenizerCountsByteForByte) {
  WriteFile("tokenizer.json", ReadFile("tokenizer.json") + "\n");
  const ModelIdentity other = Identity();
  EXPECT_NE(other.tokenizer_sha256, original_.tokenizer_sha256);
  EXPECT_EQ(other.model_sha256, original_.model_sha256);
  EXPECT_EQ(other.config_sha256, original_.config_sha256);
}

TEST_F(ModelIdentityTest, NamesWhatIsMissing) {
  fs::remove(folder_.path() / "tokenizer.json");
  EXPECT_NE(ReadModelIdentity(folder_.path().string(), 1).status().message().find("tokenizer.json"),
            std::string::npos);
  EXPECT_EQ(ReadModelIdentity("/nowhere/at/all", 1).status().code(), StatusCode::kNotFound);
}

TEST(TensorManifest, IsOneLineATensorByName) {
  const std::string data = "abc";
  TensorInfo info = {
      .name = "x", .dtype = "U8", .shape = {3}, .data = std::as_bytes(std::span(data))};
  TensorInfo empty = {.name = "y", .dtype = "BF16", .shape = {0, 2}, .data = {}};
  double last = 0;
  const std::string manifest = TensorManifest({{"b.weight", &info}, {"a.weight", &empty}}, 1,
                                              [&](double fraction) { last = fraction; });
  EXPECT_EQ(manifest,
            "a.weight BF16 [0, 2] "
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
            "b.weight U8 [3] "
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n");
  EXPECT_EQ(last, 1);
}

}  // namespace
}  // namespace verbatim::testing
