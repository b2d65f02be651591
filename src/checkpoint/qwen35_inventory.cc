// qwen3_5.md 2, 3.1, 5.1 and 6.1 as a list.
#include "checkpoint/qwen35_inventory.h"

#include <fmt/format.h>

#include <utility>

namespace verbatim {
namespace {

using Kind = ExpectedTensor::Kind;

class Builder {
 public:
  explicit Builder(const Qwen35Config& config) : c_(config) {}

  void Matrix(std::string path, int64_t rows, int64_t cols, std::string derivation) {
    Add(Kind::kMatrix, std::move(path), ".weight", {rows, cols}, std::move(derivation));
  }
  void Norm(std::string path, int64_t size, std::string derivation) {
    Add(Kind::kNorm, std::move(path), ".weight", {size}, std::move(derivation));
  }
  void Add(Kind kind, std::string path, std::string suffix, std::vector<int64_t> shape,
           std::string derivation) {
    tensors_.push_back(
        {kind, std::move(path), std::move(suffix), std::move(shape), std::move(derivation)});
  }

  void FullAttention(const std::string& layer) {
    const std::string p = layer + ".self_attn.";
    const int64_t heads = c_.num_attention_heads;
    const int64_t kv_dim = int64_t{c_.num_key_value_heads} * c_.head_dim;
    const int64_t hidden = c_.hidden_size;
    // Query and gate of each head: q_proj has twice the rows.
    Matrix(p + "q_proj", 2 * heads * c_.head_dim, hidden,
           "[2 * num_attention_heads * head_dim, hidden_size]");
    Matrix(p + "k_proj", kv_dim, hidden, "[num_key_value_heads * head_dim, hidden_size]");
    Matrix(p + "v_proj", kv_dim, hidden, "[num_key_value_heads * head_dim, hidden_size]");
    Matrix(p + "o_proj", hidden, heads * c_.head_dim,
           "[hidden_size, num_attention_heads * head_dim]");
    Norm(p + "q_norm", c_.head_dim, "[head_dim]");
    Norm(p + "k_norm", c_.head_dim, "[head_dim]");
  }

  void LinearAttention(const std::string& layer) {
    const std::string p = layer + ".linear_attn.";
    const int64_t heads = c_.linear_num_value_heads;
    const std::string conv_dim =
        "2 * linear_num_key_heads * linear_key_head_dim + "
        "linear_num_value_heads * linear_value_head_dim";
    const std::string value_dim = "linear_num_value_heads * linear_value_head_dim";
    Matrix(p + "in_proj_qkv", c_.conv_dim(), c_.hidden_size, "[" + conv_dim + ", hidden_size]");
    Matrix(p + "in_proj_z", c_.value_dim(), c_.hidden_size, "[" + value_dim + ", hidden_size]");
    Matrix(p + "in_proj_b", heads, c_.hidden_size, "[linear_num_value_heads, hidden_size]");
    Matrix(p + "in_proj_a", heads, c_.hidden_size, "[linear_num_value_heads, hidden_size]");
    Matrix(p + "out_proj", c_.hidden_size, c_.value_dim(), "[hidden_size, " + value_dim + "]");
    Add(Kind::kConv, p + "conv1d", ".weight", {c_.conv_dim(), c_.linear_conv_kernel_dim},
        "[" + conv_dim + ", linear_conv_kernel_dim]");
    Add(Kind::kVector, p + "A_log", "", {heads}, "[linear_num_value_heads]");
    Add(Kind::kVector, p + "dt_bias", "", {heads}, "[linear_num_value_heads]");
    Add(Kind::kVector, p + "norm", ".weight", {c_.linear_value_head_dim},
        "[linear_value_head_dim]");
  }

  void LayerFrame(const std::string& layer) {
    const int64_t hidden = c_.hidden_size;
    const int64_t mlp = c_.intermediate_size;
    Norm(layer + ".input_layernorm", hidden, "[hidden_size]");
    Norm(layer + ".post_attention_layernorm", hidden, "[hidden_size]");
    Matrix(layer + ".mlp.gate_proj", mlp, hidden, "[intermediate_size, hidden_size]");
    Matrix(layer + ".mlp.up_proj", mlp, hidden, "[intermediate_size, hidden_size]");
    Matrix(layer + ".mlp.down_proj", hidden, mlp, "[hidden_size, intermediate_size]");
  }

  std::vector<ExpectedTensor> Take() { return std::move(tensors_); }

 private:
  const Qwen35Config& c_;
  std::vector<ExpectedTensor> tensors_;
};

}  // namespace

std::vector<ExpectedTensor> TextInventory(const Qwen35Config& config) {
  Builder builder(config);
  builder.Matrix("embed_tokens", config.vocab_size, config.hidden_size,
                 "[vocab_size, hidden_size]");
  for (int i = 0; i < config.num_hidden_layers; ++i) {
    const std::string layer = fmt::format("layers.{}", i);
    builder.LayerFrame(layer);
    if (config.layer_types[static_cast<size_t>(i)] == Qwen35Config::LayerType::kLinearAttention) {
      builder.LinearAttention(layer);
    } else {
      builder.FullAttention(layer);
    }
  }
  builder.Norm("norm", config.hidden_size, "[hidden_size]");
  if (!config.tie_word_embeddings) {
    builder.Matrix("lm_head", config.vocab_size, config.hidden_size, "[vocab_size, hidden_size]");
  }
  return builder.Take();
}

std::vector<ExpectedTensor> MtpInventory(const Qwen35Config& config) {
  Builder builder(config);
  builder.Matrix("mtp.fc", config.hidden_size, 2 * config.hidden_size,
                 "[hidden_size, 2 * hidden_size]");
  builder.Norm("mtp.pre_fc_norm_embedding", config.hidden_size, "[hidden_size]");
  builder.Norm("mtp.pre_fc_norm_hidden", config.hidden_size, "[hidden_size]");
  builder.LayerFrame("mtp.layers.0");
  builder.FullAttention("mtp.layers.0");
  builder.Norm("mtp.norm", config.hidden_size, "[hidden_size]");
  return builder.Take();
}

}  // namespace verbatim
