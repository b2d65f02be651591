// Qwen35Config: the text model of a Qwen3.5-family config.json, checked. Not the vision tower.
#ifndef VERBATIM_CHECKPOINT_QWEN35_CONFIG_H_
#define VERBATIM_CHECKPOINT_QWEN35_CONFIG_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

struct Qwen35Config {
  enum class LayerType { kLinearAttention, kFullAttention };

  std::string model_type;  // as in the file, e.g. "qwen3_5"
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t vocab_size = 0;
  int num_hidden_layers = 0;
  std::vector<LayerType> layer_types;  // [num_hidden_layers]
  int num_attention_heads = 0;
  int num_key_value_heads = 0;
  int head_dim = 0;
  int rotary_dim = 0;  // int(head_dim * partial_rotary_factor), even
  double rope_theta = 0;
  int linear_num_key_heads = 0;
  int linear_num_value_heads = 0;
  int linear_key_head_dim = 0;
  int linear_value_head_dim = 0;
  int linear_conv_kernel_dim = 0;  // 4
  double rms_norm_eps = 0;
  int64_t max_position_embeddings = 0;
  bool tie_word_embeddings = false;
  int mtp_num_hidden_layers = 0;              // what the config claims; the tensors decide
  bool mtp_use_dedicated_embeddings = false;  // true is not supported: MTP is then off
  std::vector<int32_t>
      eos_token_ids;  // generation_config.json's first, then config.json's, without repeats

  int64_t key_dim() const { return int64_t{linear_num_key_heads} * linear_key_head_dim; }
  int64_t value_dim() const { return int64_t{linear_num_value_heads} * linear_value_head_dim; }
  int64_t conv_dim() const { return 2 * key_dim() + value_dim(); }
};

// Parses config.json and (if not null) generation_config.json. `where` names config.json in errors.
// Every key of the text model must be there (text_config, or top level in text-only exports): other
// readers' defaults are placeholders. Errors: kCorrupt (a missing or impossible key, by name),
// kUnsupported (another architecture, or a variant that this build can't run, by name).
Expected<Qwen35Config> ParseQwen35Config(const nlohmann::json& config,
                                         const nlohmann::json* generation_config,
                                         const std::string& where);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_QWEN35_CONFIG_H_
