// What must hold for every input: a value that keeps its promises, or an error that names a fault.
#include "fuzz/fuzz_entries.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "checkpoint/generation_config.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/json.h"
#include "checkpoint/mlx_affine.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/quantize.h"
#include "checkpoint/qwen35_config.h"
#include "checkpoint/qwen35_inventory.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/shards.h"
#include "checkpoint/tensor_table.h"
#include "fuzz/check_fault.h"
#include "fuzz/split_input.h"
#include "support/memory_folder.h"

namespace verbatim::fuzz {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  VERBATIM_CHECK(file.flush());
}

// Small enough that a mutated seed can satisfy it.
Qwen35Config SmallConfig() {
  Qwen35Config config;
  config.hidden_size = 32;
  config.intermediate_size = 32;
  config.vocab_size = 4;
  config.num_hidden_layers = 1;
  config.layer_types = {Qwen35Config::LayerType::kLinearAttention};
  config.num_attention_heads = 1;
  config.num_key_value_heads = 1;
  config.head_dim = 16;
  config.linear_num_key_heads = 1;
  config.linear_num_value_heads = 1;
  config.linear_key_head_dim = 4;
  config.linear_value_head_dim = 16;
  config.linear_conv_kernel_dim = 4;
  return config;
}

void ReadTensors(const SafetensorsFile& file, FileRole role) {
  TensorTable table;
  if (const Status status = table.Add(file, role); !status.ok()) return CheckFault(status);
  const Qwen35Config config = SmallConfig();
  std::vector<ExpectedTensor> inventory = TextInventory(config);
  const std::vector<ExpectedTensor> mtp = MtpInventory(config);
  inventory.insert(inventory.end(), mtp.begin(), mtp.end());
  ReadContext context;
  context.place = "folder";
  context.config_where = "config.json";
  ModelWeights weights;
  for (const bool raw : {true, false}) {
    context.raw_layout = raw;
    for (const ExpectedTensor& expected : inventory) {
      const Status status = ReadExpected(table, expected, context, &weights);
      if (!status.ok()) CheckFault(status);
    }
  }
  std::vector<float> row;
  for (const auto& [name, matrix] : weights.matrices) {
    row.resize(static_cast<size_t>(matrix.cols));
    DequantizeRow(matrix, matrix.rows - 1, row);
  }
}

}  // namespace

void FuzzSafetensors(std::span<const std::byte> bytes) {
  const auto file = SafetensorsFile::Parse(bytes, "fuzz.safetensors");
  if (!file.ok()) return CheckFault(file.status());
  size_t covered = 0;
  for (const auto& [name, tensor] : file->tensors()) {
    VERBATIM_CHECK(tensor.data.data() >= bytes.data());
    VERBATIM_CHECK(tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    covered += tensor.data.size();
  }
  VERBATIM_CHECK(covered <= bytes.size());
  ReadTensors(*file, FileRole::kModel);
  ReadTensors(*file, FileRole::kDrafter);
}

void FuzzConfig(std::span<const std::byte> bytes) {
  const std::vector<std::string_view> parts = SplitInput(bytes, 2);
  const auto config = ParseJson(parts[0], "config.json");
  if (!config.ok()) return CheckFault(config.status());
  if (!config->is_object()) return;  // ReadJsonObject refuses it
  const auto generation = ParseJson(parts.size() == 1 ? "{}" : parts[1], "generation_config.json");
  if (!generation.ok()) return CheckFault(generation.status());
  if (!generation->is_object()) return;

  const auto parsed = ParseQwen35Config(*config, &*generation, "config.json");
  if (parsed.ok()) {
    VERBATIM_CHECK(parsed->layer_types.size() == static_cast<size_t>(parsed->num_hidden_layers));
    VERBATIM_CHECK(parsed->rotary_dim % 2 == 0 && parsed->rotary_dim <= parsed->head_dim);
    VERBATIM_CHECK(parsed->conv_dim() > 0 && parsed->hidden_size > 0);
    for (const int32_t id : parsed->eos_token_ids) {
      VERBATIM_CHECK(id >= 0 && id < parsed->vocab_size);
    }
    for (const ExpectedTensor& expected : TextInventory(*parsed)) {
      for (const int64_t dim : expected.shape) VERBATIM_CHECK(dim > 0);
    }
  } else {
    CheckFault(parsed.status());
  }
  for (const FileRole role : {FileRole::kModel, FileRole::kDrafter}) {
    const auto quantization = ParseQuantizationConfig(*config, "config.json", role);
    if (!quantization.ok()) {
      CheckFault(quantization.status());
    } else if (quantization->present) {
      VERBATIM_CHECK(IsAffineBits(quantization->defaults.bits));
      VERBATIM_CHECK(IsAffineGroupSize(quantization->defaults.group_size));
    }
  }
}

void FuzzQuantization(std::span<const std::byte> bytes) {
  const std::vector<std::string_view> parts = SplitInput(bytes, 2);
  if (parts.size() == 2) {
    const auto entry = ParseQuantizeOverride(parts[1]);
    if (!entry.ok()) CheckFault(entry.status());
  }
  const auto block = ParseJson(parts[0], "config.json");
  if (!block.ok()) return CheckFault(block.status());
  for (const FileRole role : {FileRole::kModel, FileRole::kDrafter}) {
    const auto parsed = ParseQuantizationConfig({{"quantization", *block}}, "config.json", role);
    if (!parsed.ok()) {
      CheckFault(parsed.status());
      continue;
    }
    const Qwen35Config config = SmallConfig();
    std::vector<ExpectedTensor> inventory = TextInventory(config);
    const std::vector<ExpectedTensor> mtp = MtpInventory(config);
    inventory.insert(inventory.end(), mtp.begin(), mtp.end());
    for (const ExpectedTensor& expected : inventory) {
      const std::optional<AffineParameters> parameters = parsed->Lookup(expected.path);
      VERBATIM_CHECK(parsed->present || !parameters.has_value());
      if (!parameters.has_value()) continue;
      VERBATIM_CHECK(IsAffineBits(parameters->bits) && IsAffineGroupSize(parameters->group_size));
    }
  }
}

void FuzzGenerationConfig(std::span<const std::byte> bytes) {
  const auto json = ParseJson(SplitInput(bytes, 1)[0], "generation_config.json");
  if (!json.ok()) return CheckFault(json.status());
  if (!json->is_object()) return;  // ReadJsonObject refuses it
  const auto parsed = ParseGenerationDefaults(*json, "generation_config.json");
  if (!parsed.ok()) return CheckFault(parsed.status());
  const SamplingOptions& sampling = parsed->sampling;
  VERBATIM_CHECK(sampling.temperature == 0 || (sampling.temperature >= kMinTemperature &&
                                               sampling.temperature <= kMaxTemperature));
  VERBATIM_CHECK(sampling.repetition_penalty > 0 && sampling.repetition_penalty <= kMaxPenalty);
  VERBATIM_CHECK(sampling.top_p >= 0 && sampling.top_p <= 1);
  VERBATIM_CHECK(sampling.min_p >= 0 && sampling.min_p <= 1);
  VERBATIM_CHECK(sampling.top_k >= 0);
  for (const std::string& field : parsed->fields) VERBATIM_CHECK(json->contains(field));
}

void FuzzShardIndex(std::span<const std::byte> bytes) {
  static const testing::MemoryFolder* const scratch = [] {
    static const testing::MemoryFolder folder;
    for (const std::string name : {"x", "y"}) {
      const nlohmann::json header = {
          {name, {{"dtype", "U8"}, {"shape", {1}}, {"data_offsets", {0, 1}}}}};
      const std::string text = header.dump();
      std::string file(8, '\0');
      file[0] = static_cast<char>(text.size());  // below 256
      Write(folder.path() / fmt::format("{}.safetensors", name), file.append(text).append("7"));
    }
    return &folder;
  }();
  Write(scratch->path() / kIndexFileName, SplitInput(bytes, 1)[0]);
  const auto shards = OpenShards(scratch->path());
  if (!shards.ok()) return CheckFault(shards.status());
  VERBATIM_CHECK(!shards->files.empty() && shards->files.size() <= 2);
  VERBATIM_CHECK(shards->files.size() == shards->file_names.size());
  VERBATIM_CHECK(OtherSafetensors(scratch->path(), *shards).size() == 2 - shards->files.size());
}

void FuzzHubCache(std::span<const std::byte> bytes) {
  static constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";
  static const testing::MemoryFolder* const scratch = [] {
    static const testing::MemoryFolder folder;
    const fs::path repo = folder.path() / "models--org--name";
    fs::create_directories(repo / "refs");
    fs::create_directories(repo / "snapshots" / kCommit);
    Write(repo / "snapshots" / kCommit / "config.json", "{}");
    return &folder;
  }();
  const std::vector<std::string_view> parts = SplitInput(bytes, 2);
  const fs::path repo = scratch->path() / "models--org--name";
  Write(repo / "refs" / "main", parts.size() == 1 ? "" : parts[1]);
  const std::string model(parts[0]);
  std::error_code error;
  if (fs::exists(model, error)) return;  // a folder of this machine
  const std::string cache = scratch->path().string();
  const auto folder = ResolveModel(model, [&](const char* name) -> const char* {
    return std::string_view(name) == "HF_HUB_CACHE" ? cache.c_str() : nullptr;
  });
  if (!folder.ok()) return CheckFault(folder.status());
  VERBATIM_CHECK(*folder == repo / "snapshots" / kCommit);  // nothing else is in the cache
}

}  // namespace verbatim::fuzz
