// What must hold for every input: a value that keeps its promises, or an error that names a fault.
#include "fuzz/fuzz_entries.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/check.h"
#include "checkpoint/json.h"
#include "checkpoint/mlx_affine.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/qwen35_config.h"
#include "checkpoint/qwen35_inventory.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_table.h"

namespace verbatim::fuzz {
namespace {

void CheckFault(const Status& status) {
  VERBATIM_CHECK(status.message().starts_with("["));
  VERBATIM_CHECK(status.message().find("] expected ") != std::string::npos);
  VERBATIM_CHECK(status.message().find(", received ") != std::string::npos);
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
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t nul = all.find('\0');
  const auto config = ParseJson(all.substr(0, nul), "config.json");
  if (!config.ok()) return CheckFault(config.status());
  if (!config->is_object()) return;  // ReadJsonObject refuses it
  const auto generation = nul == all.npos
                              ? ParseJson("{}", "generation_config.json")
                              : ParseJson(all.substr(nul + 1), "generation_config.json");
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

}  // namespace verbatim::fuzz
