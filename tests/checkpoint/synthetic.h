// Synthetic checkpoints: small random Qwen3.5 models in any layout, written to a temporary folder,
// for tests of every layer. Not a model that makes sense.
//
//   TempFolder folder;
//   ModelSpec spec;                        // change shapes, types, tying as the test needs
//   WriteModel(folder.path(), ConfigJson(spec), RawTensors(spec));
//   auto checkpoint = LoadCheckpoint({.model = folder.path().string()});
#ifndef VERBATIM_TESTS_CHECKPOINT_SYNTHETIC_H_
#define VERBATIM_TESTS_CHECKPOINT_SYNTHETIC_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/loader.h"

namespace verbatim::testing {

// A fresh folder, removed with everything in it at the end of the scope.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void WriteFile(const std::filesystem::path& path, std::string_view bytes);
std::string ReadFile(const std::filesystem::path& path);

struct FileTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};
using TensorMap = std::map<std::string, FileTensor>;

// Values rounded to the dtype ("F32", "BF16", "F16").
FileTensor MakeTensor(std::string_view dtype, std::vector<int64_t> shape,
                      std::span<const float> values);
std::vector<float> TensorValues(const FileTensor& tensor);

// A whole .safetensors file. SafetensorsText takes the header as text, so that it may be wrong.
std::string SafetensorsBytes(const TensorMap& tensors);
std::string SafetensorsText(std::string_view header, std::string_view data);

struct ModelSpec {
  int64_t hidden_size = 64;
  int64_t intermediate_size = 96;
  int64_t vocab_size = 96;
  std::string layer_types = "lllf";  // l: linear_attention, f: full_attention
  int num_attention_heads = 2;
  int num_key_value_heads = 1;
  int head_dim = 32;
  int linear_num_key_heads = 2;
  int linear_num_value_heads = 4;
  int linear_key_head_dim = 16;
  int linear_value_head_dim = 16;
  bool tied = true;
  bool mtp = true;
  std::string dtype = "BF16";  // of everything but A_log, which is F32
  uint32_t seed = 1;
};

nlohmann::json ConfigJson(const ModelSpec& spec);  // text_config nesting

// Random weights in the raw Hugging Face layout: matrices in +-1/sqrt(cols), norm weights w in
// +-1/2 as multiples of 1/128, so that 1 + w is exact in BF16 (the layouts can then be compared bit
// for bit).
TensorMap RawTensors(const ModelSpec& spec);

// The same model as an MLX converter writes it: names, norms 1 + w, conv1d [C, 4, 1], no mtp.*.
TensorMap ToMlx(const TensorMap& raw);

// mtp.* of a raw map as a qwen3_5_mtp drafter folder has them: no prefix, norms 1 + w.
TensorMap ToDrafter(const TensorMap& raw);

// Replaces <path>.weight by its three affine tensors.
void QuantizeTensor(TensorMap* tensors, const std::string& path, int bits, int group_size);

void WriteModel(const std::filesystem::path& folder, const nlohmann::json& config,
                const TensorMap& tensors);

Expected<Checkpoint> LoadFolder(const std::filesystem::path& folder);

// Empty if both hold the same formats, shapes and bytes (names in the files may differ), else what
// differs first.
std::string WeightsDifference(const ModelWeights& a, const ModelWeights& b);

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_CHECKPOINT_SYNTHETIC_H_
