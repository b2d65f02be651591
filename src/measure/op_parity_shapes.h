// The shapes that RunOpParity takes its cases from: published ones and a checkpoint's own. Internal
// to measure/op_parity*.
#ifndef VERBATIM_MEASURE_OP_PARITY_SHAPES_H_
#define VERBATIM_MEASURE_OP_PARITY_SHAPES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/loader.h"
#include "checkpoint/weights.h"
#include "ops/recurrent_layout.h"

namespace verbatim::parity {

struct MatrixShape {
  std::string name;  // "gate_proj"
  int64_t out_features = 0;
  int64_t in_features = 0;
  const WeightMatrix* weights = nullptr;  // a checkpoint's own; null: random ones in each format
};

struct AttentionShape {
  std::string name;  // "sliding layers", or empty
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int rotary_dim = 0;
  double rope_theta = 0;
  bool gated = false;  // q rows hold the gates between the heads
};

// What a model lacks is zero or empty.
struct ModelShapes {
  std::string name;
  std::shared_ptr<const Checkpoint> checkpoint;  // keeps `weights` of matrices; null: published
  int64_t hidden_size = 0;
  int64_t vocab_size = 0;
  std::vector<MatrixShape> matrices;  // embed_tokens is no linear of an untied model
  bool all_group_sizes = false;       // random affine matrices in groups of 32 and 128 too
  MatrixShape embedding;
  int64_t silu_width = 0;  // 0: none
  std::vector<AttentionShape> attentions;
  std::optional<ops::RecurrentLayout> recurrent;
  float eps = 1e-6f;
};

// Qwen3.5 27B and 0.8B, Gemma 4 12B and 31B: of the latter, what has an op today (not gelu_mul,
// softcap, sliding windows and the norm of V). Then small linears that none of them has: odd
// numbers of groups, every group size, a K that is padded, a last tile that is not full.
std::vector<ModelShapes> PublishedShapes();

// Errors: those of loading.
Expected<ModelShapes> ShapesOfModel(const std::string& model);

}  // namespace verbatim::parity

#endif  // VERBATIM_MEASURE_OP_PARITY_SHAPES_H_
