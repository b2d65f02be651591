// Weights as a checkpoint stores them, under canonical names. Not the packed form that kernels read
// (ops/linear.h).
#ifndef VERBATIM_CHECKPOINT_WEIGHTS_H_
#define VERBATIM_CHECKPOINT_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

enum class WeightType : uint8_t { kF32, kBF16, kF16, kAffine };

// How one matrix is stored. For kAffine: w = scale*q + bias, q unsigned of `bits` bits (MLX
// affine).
struct WeightFormat {
  WeightType type = WeightType::kF32;
  int bits = 0;        // kAffine: 2, 3, 4, 5, 6 or 8
  int group_size = 0;  // kAffine: 32, 64 or 128 values of the input axis
  WeightType scale_type =
      WeightType::kBF16;  // kAffine: type of scales and biases in the file; never kAffine

  friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

// "bf16", "f32", "affine 4-bit g64".
std::string FormatName(const WeightFormat& format);

// A matrix W of y = x * W^T, viewed in its mapped file. Valid while the checkpoint lives.
struct WeightMatrix {
  std::string name;  // as in the file, for messages
  WeightFormat format;
  int64_t rows = 0;  // output features
  int64_t cols = 0;  // input features
  std::span<const std::byte>
      data;  // dense: [rows, cols]; affine: u32 words [rows, cols * bits / 32]
  std::span<const std::byte> scales;  // affine: [rows, cols / group_size] of scale_type
  std::span<const std::byte> biases;  // affine: as scales

  int64_t bytes() const {
    return static_cast<int64_t>(data.size() + scales.size() + biases.size());
  }
};

// A small tensor, widened exactly to binary32 and owned.
struct WeightVector {
  std::string name;
  WeightType stored_as = WeightType::kF32;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// Canonical names of the Qwen3.5 family, whatever the layout of the files:
//   embed_tokens, lm_head (absent when tied), norm,
//   layers.N.{input_layernorm,post_attention_layernorm},
//   layers.N.self_attn.{q_proj,k_proj,v_proj,o_proj,q_norm,k_norm},
//   layers.N.linear_attn.{in_proj_qkv,in_proj_z,in_proj_b,in_proj_a,out_proj,conv1d,A_log,dt_bias,norm},
//   layers.N.mlp.{gate_proj,up_proj,down_proj},
//   mtp.{fc,pre_fc_norm_embedding,pre_fc_norm_hidden,norm}, mtp.layers.0.<as a full-attention
//   layer>.
// Norm vectors hold the final multiplier w' (1 + w computed in binary32 for raw Hugging Face files,
// w as stored for converted ones and for linear_attn.norm). conv1d is [conv_dim, 4] in both
// layouts.
class ModelWeights {
 public:
  // Both fail with kNotFound and the canonical name, or kCorrupt if the tensor is of the other
  // kind.
  Expected<const WeightMatrix*> Matrix(std::string_view name) const;
  Expected<const WeightVector*> Vector(std::string_view name) const;
  bool Contains(std::string_view name) const;

  std::map<std::string, WeightMatrix, std::less<>> matrices;
  std::map<std::string, WeightVector, std::less<>> vectors;
};

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_WEIGHTS_H_
