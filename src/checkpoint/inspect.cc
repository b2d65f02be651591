// Counts and sums; the layouts behind the estimates are those of ops/kv_layout.h and
// ops/recurrent_layout.h, which lie above this layer.
#include "checkpoint/inspect.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace verbatim {
namespace {

constexpr int64_t kPagePositions = 256;  // one attention chunk (numerics.md 5)
// The engine's kSlotsBeyondContext (engine/engine_impl.h lies above this layer): row i of the MTP
// head lies in slot i + 1, and three drafts behind the last position may be looked at.
constexpr int64_t kSlotsBeyondContext = 4;
constexpr int64_t kStateBytes = 4;   // states and records are binary32
constexpr int64_t kSlotFloats = 16;  // a state slot fills whole cache lines

int64_t CountLayers(const Qwen35Config& config, Qwen35Config::LayerType type) {
  return std::ranges::count(config.layer_types, type);
}

nlohmann::ordered_json ConfigJson(const Qwen35Config& config) {
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (const auto type : config.layer_types) {
    types.push_back(type == Qwen35Config::LayerType::kLinearAttention ? "linear_attention"
                                                                      : "full_attention");
  }
  return {{"model_type", config.model_type},
          {"hidden_size", config.hidden_size},
          {"intermediate_size", config.intermediate_size},
          {"vocab_size", config.vocab_size},
          {"num_hidden_layers", config.num_hidden_layers},
          {"layer_types", types},
          {"num_attention_heads", config.num_attention_heads},
          {"num_key_value_heads", config.num_key_value_heads},
          {"head_dim", config.head_dim},
          {"rotary_dim", config.rotary_dim},
          {"rope_theta", config.rope_theta},
          {"linear_num_key_heads", config.linear_num_key_heads},
          {"linear_num_value_heads", config.linear_num_value_heads},
          {"linear_key_head_dim", config.linear_key_head_dim},
          {"linear_value_head_dim", config.linear_value_head_dim},
          {"linear_conv_kernel_dim", config.linear_conv_kernel_dim},
          {"rms_norm_eps", config.rms_norm_eps},
          {"max_position_embeddings", config.max_position_embeddings},
          {"tie_word_embeddings", config.tie_word_embeddings},
          {"mtp_num_hidden_layers", config.mtp_num_hidden_layers},
          {"eos_token_ids", config.eos_token_ids}};
}

}  // namespace

CheckpointDescription DescribeCheckpoint(const Checkpoint& checkpoint) {
  CheckpointDescription result;
  for (const auto& [name, matrix] : checkpoint.weights.matrices) {
    result.tensors.push_back({name,
                              matrix.name,
                              FormatName(matrix.format),
                              {matrix.rows, matrix.cols},
                              matrix.rows * matrix.cols,
                              matrix.bytes()});
  }
  for (const auto& [name, vector] : checkpoint.weights.vectors) {
    WeightFormat format;
    format.type = vector.stored_as;
    const auto count = static_cast<int64_t>(vector.values.size());
    result.tensors.push_back({name, vector.name, FormatName(format), vector.shape, count,
                              count * (vector.stored_as == WeightType::kF32 ? 4 : 2)});
  }
  std::ranges::sort(result.tensors, {}, &TensorDescription::name);
  for (const TensorDescription& tensor : result.tensors) {
    const bool mtp = tensor.name.starts_with("mtp.");
    (mtp ? result.mtp_parameters : result.text_parameters) += tensor.parameters;
    result.weight_bytes += tensor.bytes;
  }
  return result;
}

MemoryEstimate EstimateMemory(const Checkpoint& checkpoint, int64_t context, int kv_element_bytes,
                              int max_drafts) {
  const Qwen35Config& config = checkpoint.config;
  MemoryEstimate result;
  result.weights = DescribeCheckpoint(checkpoint).weight_bytes;

  const int64_t kv_layers =
      CountLayers(config, Qwen35Config::LayerType::kFullAttention) + (checkpoint.has_mtp ? 1 : 0);
  const int64_t pages = (context + kSlotsBeyondContext + kPagePositions - 1) / kPagePositions;
  const int64_t page_elements =
      2 * kPagePositions * int64_t{config.head_dim} * config.num_key_value_heads;
  result.kv_cache = kv_layers * pages * page_elements * kv_element_bytes;

  // Per layer: S, the convolution's rows, and for each draft row the normalised keys, the value
  // deltas, the decays and the row before the convolution.
  const int64_t state = config.value_dim() * config.linear_key_head_dim;
  const int64_t record =
      config.key_dim() + config.value_dim() + config.linear_num_value_heads + config.conv_dim();
  const int64_t conv_rows = config.linear_conv_kernel_dim - 1;  // all but the current one
  const int64_t floats = state + conv_rows * config.conv_dim() + max_drafts * record;
  const int64_t slot = (floats + kSlotFloats - 1) / kSlotFloats * kSlotFloats;
  result.recurrent_state =
      CountLayers(config, Qwen35Config::LayerType::kLinearAttention) * slot * kStateBytes;
  return result;
}

std::string InspectJson(const Checkpoint& checkpoint, int64_t context, int kv_element_bytes,
                        int max_drafts) {
  const CheckpointDescription description = DescribeCheckpoint(checkpoint);
  const MemoryEstimate memory = EstimateMemory(checkpoint, context, kv_element_bytes, max_drafts);
  nlohmann::ordered_json tensors = nlohmann::ordered_json::array();
  for (const TensorDescription& tensor : description.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"file_name", tensor.file_name},
                       {"type", tensor.type},
                       {"shape", tensor.shape},
                       {"parameters", tensor.parameters},
                       {"bytes", tensor.bytes}});
  }
  const nlohmann::ordered_json json = {
      {"folder", checkpoint.folder.string()},
      {"layout", checkpoint.layout},
      {"weight_types", checkpoint.weight_types},
      {"config", ConfigJson(checkpoint.config)},
      {"parameters", {{"text", description.text_parameters}, {"mtp", description.mtp_parameters}}},
      {"weight_bytes", description.weight_bytes},
      {"has_mtp", checkpoint.has_mtp},
      {"mtp_source", checkpoint.mtp_source},
      {"num_vision_tensors", checkpoint.num_vision_tensors},
      {"unexpected_tensors", checkpoint.unexpected_tensors},
      {"memory",
       {{"context", context},
        {"kv_element_bytes", kv_element_bytes},
        {"max_drafts", max_drafts},
        {"weights", memory.weights},
        {"kv_cache", memory.kv_cache},
        {"recurrent_state", memory.recurrent_state},
        {"total", memory.total()},
        {"not_counted", kNotCounted}}},
      {"tensors", tensors}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace verbatim
