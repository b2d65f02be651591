// The published shapes of the dense Qwen3.5 family and the weight formats that a made checkpoint
// can have. Not weights (random_checkpoint.h).
#ifndef VERBATIM_MEASURE_CHECKPOINT_SHAPE_H_
#define VERBATIM_MEASURE_CHECKPOINT_SHAPE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim {

// What differs between the sizes (qwen3_5.md 1.3); the defaults are what all of them share.
struct CheckpointShape {
  std::string_view name;  // "0.8b"
  int64_t hidden_size = 0;
  int num_hidden_layers = 0;
  int64_t intermediate_size = 0;
  int num_attention_heads = 0;
  int num_key_value_heads = 0;
  int linear_num_key_heads = 16;
  int linear_num_value_heads = 0;
  bool tie_word_embeddings = false;
  int head_dim = 256;
  int linear_head_dim = 128;  // of keys and of values
  int64_t vocab_size = 248320;
};

struct CheckpointFormat {
  std::string_view name;  // "bf16", "q4"
  int bits = 0;           // of an MLX affine matrix in groups of 64; 0: dense
  bool f16 = false;       // dense: binary16 instead of bfloat16
};

std::span<const CheckpointShape> CheckpointShapes();    // 0.8b, 2b, 4b, 9b, 27b
std::span<const CheckpointFormat> CheckpointFormats();  // bf16, f16, q8, q6, q5, q4, q3, q2

// By name. Errors: kInvalidArgument, listing the names.
Expected<CheckpointShape> FindCheckpointShape(std::string_view name);
Expected<CheckpointFormat> FindCheckpointFormat(std::string_view name);

// The config.json of the shape in that format, with an MTP head and without an end-of-sequence id:
// random text has no end.
nlohmann::ordered_json ConfigJson(const CheckpointShape& shape, const CheckpointFormat& format);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_CHECKPOINT_SHAPE_H_
