// Two tables and the config.json that they give.
#include "measure/checkpoint_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verbatim {
namespace {

constexpr CheckpointShape kShapes[] = {
    {.name = "0.8b",
     .hidden_size = 1024,
     .num_hidden_layers = 24,
     .intermediate_size = 3584,
     .num_attention_heads = 8,
     .num_key_value_heads = 2,
     .linear_num_value_heads = 16,
     .tie_word_embeddings = true},
    {.name = "2b",
     .hidden_size = 2048,
     .num_hidden_layers = 24,
     .intermediate_size = 6144,
     .num_attention_heads = 8,
     .num_key_value_heads = 2,
     .linear_num_value_heads = 16,
     .tie_word_embeddings = true},
    {.name = "4b",
     .hidden_size = 2560,
     .num_hidden_layers = 32,
     .intermediate_size = 9216,
     .num_attention_heads = 16,
     .num_key_value_heads = 4,
     .linear_num_value_heads = 32,
     .tie_word_embeddings = true},
    {.name = "9b",
     .hidden_size = 4096,
     .num_hidden_layers = 32,
     .intermediate_size = 12288,
     .num_attention_heads = 16,
     .num_key_value_heads = 4,
     .linear_num_value_heads = 32},
    {.name = "27b",
     .hidden_size = 5120,
     .num_hidden_layers = 64,
     .intermediate_size = 17408,
     .num_attention_heads = 24,
     .num_key_value_heads = 4,
     .linear_num_value_heads = 48},
};

constexpr CheckpointFormat kFormats[] = {
    {.name = "bf16"},          {.name = "f16", .f16 = true}, {.name = "q8", .bits = 8},
    {.name = "q6", .bits = 6}, {.name = "q5", .bits = 5},    {.name = "q4", .bits = 4},
    {.name = "q3", .bits = 3}, {.name = "q2", .bits = 2},
};

template <typename T>
Expected<T> Find(std::span<const T> table, std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (const T& entry : table) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  return MakeError(StatusCode::kInvalidArgument, where, fmt::format("{}", fmt::join(names, ", ")),
                   name);
}

}  // namespace

std::span<const CheckpointShape> CheckpointShapes() { return kShapes; }
std::span<const CheckpointFormat> CheckpointFormats() { return kFormats; }

Expected<CheckpointShape> FindCheckpointShape(std::string_view name) {
  return Find(CheckpointShapes(), name, "shape");
}

Expected<CheckpointFormat> FindCheckpointFormat(std::string_view name) {
  return Find(CheckpointFormats(), name, "format");
}

nlohmann::ordered_json ConfigJson(const CheckpointShape& shape, const CheckpointFormat& format) {
  using Json = nlohmann::ordered_json;
  const Json text = {
      {"model_type", "qwen3_5_text"},
      {"vocab_size", shape.vocab_size},
      {"hidden_size", shape.hidden_size},
      {"intermediate_size", shape.intermediate_size},
      {"num_hidden_layers", shape.num_hidden_layers},
      {"full_attention_interval", 4},
      {"num_attention_heads", shape.num_attention_heads},
      {"num_key_value_heads", shape.num_key_value_heads},
      {"head_dim", shape.head_dim},
      {"linear_num_key_heads", shape.linear_num_key_heads},
      {"linear_num_value_heads", shape.linear_num_value_heads},
      {"linear_key_head_dim", shape.linear_head_dim},
      {"linear_value_head_dim", shape.linear_head_dim},
      {"linear_conv_kernel_dim", 4},
      {"rms_norm_eps", 1e-6},
      {"hidden_act", "silu"},
      {"attention_bias", false},
      {"attn_output_gate", true},
      {"max_position_embeddings", 262144},
      {"tie_word_embeddings", shape.tie_word_embeddings},
      {"dtype", format.f16 ? "float16" : "bfloat16"},
      {"mamba_ssm_dtype", "float32"},
      {"mtp_num_hidden_layers", 1},
      {"mtp_use_dedicated_embeddings", false},
      {"rope_parameters",
       {{"rope_type", "default"},
        {"rope_theta", 10000000.0},
        {"partial_rotary_factor", 0.25},
        {"mrope_interleaved", true},
        {"mrope_section", {11, 11, 10}}}},
  };
  Json config = {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
                 {"model_type", "qwen3_5"},
                 {"tie_word_embeddings", shape.tie_word_embeddings},
                 {"text_config", text}};
  if (format.bits != 0) {
    const Json quantization = {{"group_size", 64}, {"bits", format.bits}, {"mode", "affine"}};
    config["quantization"] = quantization;
    config["quantization_config"] = quantization;
  }
  return config;
}

}  // namespace verbatim
