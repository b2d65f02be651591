// Random checkpoints: the published sizes, what the loader makes of every format, equal bytes on
// repetition, finite text, and no half-made folder.
#include "measure/random_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/sha256.h"
#include "base/temporary_folder.h"
#include "checkpoint/loader.h"
#include "checkpoint/mlx_affine.h"
#include "verbatim/engine.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// Every kind of layer at a size that takes no time.
constexpr CheckpointShape kSmall = {.name = "small",
                                    .hidden_size = 128,
                                    .num_hidden_layers = 4,
                                    .intermediate_size = 192,
                                    .num_attention_heads = 2,
                                    .num_key_value_heads = 1,
                                    .linear_num_key_heads = 2,
                                    .linear_num_value_heads = 4,
                                    .tie_word_embeddings = true,
                                    .head_dim = 64,
                                    .linear_head_dim = 32,
                                    .vocab_size = 512};

class RandomCheckpointTest : public ::testing::Test {
 protected:
  RandomCheckpointTest() : folder_(*TemporaryFolder::CreateUnique("verbatim-test-")) {}

  RandomCheckpointOptions Options(const std::string& name, const std::string& format) {
    RandomCheckpointOptions options;
    options.shape = kSmall;
    options.format = *FindCheckpointFormat(format);
    options.output = folder_.path() / name;
    return options;
  }
  std::string Make(const RandomCheckpointOptions& options) {
    const Status status = MakeRandomCheckpoint(options);
    EXPECT_TRUE(status.ok()) << status.message();
    return options.output.string();
  }
  size_t NumEntries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  TemporaryFolder folder_;
};

std::string FileText(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// qwen3_5.md 1.3: text and MTP parameters, counted from the published checkpoints. The small
// vectors are stored in 32 bits here, so bytes are bounded from both sides by a thousandth.
TEST(CheckpointShapeTest, SizesAreThePublishedOnes) {
  const struct {
    const char* name;
    int64_t parameters;
  } published[] = {{"0.8b", 752393024 + 20452864},
                   {"2b", 1881825088 + 60828160},
                   {"4b", 4205751296 + 120599552},
                   {"9b", 8953803264 + 243290624},
                   {"27b", 26895998464 + 424699392}};
  const CheckpointFormat bf16 = *FindCheckpointFormat("bf16");
  for (const auto& [name, parameters] : published) {
    const CheckpointShape shape = *FindCheckpointShape(name);
    const int64_t bytes = RandomCheckpointBytes(shape, bf16);
    EXPECT_GE(bytes, 2 * parameters) << name;
    EXPECT_LE(bytes, 2 * parameters + 2 * parameters / 1000) << name;
  }
  // The 27B counts exactly: 2 bytes each, and 2 more for each value of a vector. Per layer two
  // norms of H; 48 recurrent layers with conv [10240, 4], A_log, dt_bias [48] and norm [128]; 17
  // attention layers (one of the MTP head) with two norms of 256; norms of H: final, and three of
  // the head.
  const int64_t vectors =
      65 * 2 * 5120 + 48 * (10240 * 4 + 48 + 48 + 128) + 17 * 2 * 256 + 4 * 5120;
  EXPECT_EQ(RandomCheckpointBytes(*FindCheckpointShape("27b"), bf16),
            2 * (26895998464 + 424699392) + 2 * vectors);
}

TEST(CheckpointShapeTest, UnknownNamesListTheKnownOnes) {
  const Status shape = FindCheckpointShape("1b").status();
  EXPECT_EQ(shape.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(shape.message(), "[shape] expected 0.8b, 2b, 4b, 9b, 27b, received 1b");
  const Status format = FindCheckpointFormat("q7").status();
  EXPECT_EQ(format.message(), "[format] expected bf16, f16, q8, q6, q5, q4, q3, q2, received q7");
}

TEST_F(RandomCheckpointTest, EveryFormatLoadsWithItsShapesAndNothingElse) {
  for (const CheckpointFormat& format : CheckpointFormats()) {
    SCOPED_TRACE(format.name);
    const std::string folder = Make(Options(std::string(format.name), std::string(format.name)));
    const auto checkpoint = LoadCheckpoint({.model = folder, .want_mtp = true});
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    EXPECT_TRUE(checkpoint->has_mtp);
    EXPECT_THAT(checkpoint->unexpected_tensors, ::testing::IsEmpty());
    EXPECT_EQ(checkpoint->config.vocab_size, 512);
    EXPECT_THAT(checkpoint->config.eos_token_ids, ::testing::IsEmpty());
    int64_t bytes = 0;
    for (const auto& [name, matrix] : checkpoint->weights.matrices) {
      bytes += matrix.bytes();
      const WeightFormat& stored = matrix.format;
      if (format.bits == 0) {
        EXPECT_EQ(stored.type, format.f16 ? WeightType::kF16 : WeightType::kBF16) << name;
      } else {
        EXPECT_EQ(stored.type, WeightType::kAffine) << name;
        EXPECT_EQ(stored.bits, format.bits) << name;
        EXPECT_EQ(stored.group_size, 64) << name;
      }
      // A linear keeps the size of its input: rms within a factor of two of 1/sqrt(cols).
      std::vector<float> row(static_cast<size_t>(matrix.cols));
      double squares = 0;
      for (int64_t r = 0; r < std::min<int64_t>(matrix.rows, 16); ++r) {
        DequantizeRow(matrix, r, row);
        for (const float value : row) squares += double{value} * value;
      }
      const double rms_times_root = std::sqrt(squares / std::min<double>(matrix.rows, 16));
      EXPECT_GT(rms_times_root, 0.5) << name;
      EXPECT_LT(rms_times_root, 2.0) << name;
    }
    for (const auto& [name, vector] : checkpoint->weights.vectors) {
      bytes += static_cast<int64_t>(vector.values.size()) * 4;
    }
    EXPECT_EQ(bytes, RandomCheckpointBytes(kSmall, format));
  }
}

TEST_F(RandomCheckpointTest, EqualOptionsGiveEqualBytesAndAnotherSeedOthers) {
  const std::string first = Make(Options("first", "q4"));
  const std::string second = Make(Options("second", "q4"));
  RandomCheckpointOptions other_seed = Options("third", "q4");
  other_seed.seed = 2;
  const std::string third = Make(other_seed);
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json"}) {
    EXPECT_EQ(FileText(fs::path(first) / name), FileText(fs::path(second) / name)) << name;
  }
  EXPECT_NE(FileText(fs::path(first) / "model.safetensors"),
            FileText(fs::path(third) / "model.safetensors"));
}

// A NaN or an infinite logit would end the request with an error.
TEST_F(RandomCheckpointTest, GeneratesFiniteTextWithAndWithoutDrafts) {
  for (const char* format : {"bf16", "f16", "q8", "q2"}) {
    SCOPED_TRACE(format);
    const auto engine = Engine::Load({.model = Make(Options(format, format)),
                                      .with_mtp = true,
                                      .num_threads = 1,
                                      .context = 128});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    Request request;
    request.prompt_token_ids = {1, 2, 300, 511};
    request.max_tokens = 32;
    request.logits_digest = true;
    const auto classic = (*engine)->Generate(request);
    ASSERT_TRUE(classic.ok()) << classic.status().message();
    EXPECT_EQ(classic->finish_reason, FinishReason::kLength) << classic->error.message();
    request.speculation.kind = SpeculationKind::kMtp;
    const auto drafted = (*engine)->Generate(request);
    ASSERT_TRUE(drafted.ok()) << drafted.status().message();
    EXPECT_EQ(drafted->logits_sha256, classic->logits_sha256);
    EXPECT_EQ(*(*engine)->Tokenize("a b\n"),
              (std::vector<int32_t>{'a' - 0x21, 188 + 32, 'b' - 0x21, 188 + 10}));
  }
}

TEST_F(RandomCheckpointTest, LeavesNothingBehindWhenStoppedOrRefused) {
  RandomCheckpointOptions options = Options("stopped", "q4");
  int calls = 0;
  options.stop = [&calls] { return ++calls == 20; };
  EXPECT_EQ(MakeRandomCheckpoint(options).code(), StatusCode::kCancelled);
  EXPECT_EQ(NumEntries(), 0u);

  options = Options("too-large", "bf16");
  options.shape.vocab_size = int64_t{1} << 30;  // 256 GiB of embeddings at this width
  options.shape.hidden_size = int64_t{1} << 20;
  const Status full = MakeRandomCheckpoint(options);
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full.message();
  EXPECT_THAT(full.message(), ::testing::HasSubstr("GiB of free space"));
  EXPECT_EQ(NumEntries(), 0u);

  Make(Options("there", "q4"));
  EXPECT_EQ(MakeRandomCheckpoint(Options("there", "q4")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(NumEntries(), 1u);
}

}  // namespace
}  // namespace verbatim
