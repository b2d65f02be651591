// From configs to shapes.
#include "measure/op_parity_shapes.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "measure/checkpoint_shape.h"

namespace verbatim::parity {
namespace {

// Drafts of a block in the engine (kMaxDraftTokens): the rows that may be rejected.
constexpr int kMaxDrafts = 15;

ModelShapes ShapesOfConfig(const Qwen35Config& config) {
  ModelShapes shapes;
  shapes.hidden_size = config.hidden_size;
  shapes.vocab_size = config.vocab_size;
  shapes.silu_width = config.intermediate_size;
  shapes.eps = static_cast<float>(config.rms_norm_eps);
  shapes.attentions = {{.name = "",
                        .num_heads = config.num_attention_heads,
                        .num_kv_heads = config.num_key_value_heads,
                        .head_dim = config.head_dim,
                        .rotary_dim = config.rotary_dim,
                        .rope_theta = config.rope_theta,
                        .gated = true}};
  shapes.recurrent = ops::RecurrentLayout{.num_key_heads = config.linear_num_key_heads,
                                          .num_value_heads = config.linear_num_value_heads,
                                          .key_head_dim = config.linear_key_head_dim,
                                          .value_head_dim = config.linear_value_head_dim,
                                          .max_drafts = kMaxDrafts};
  return shapes;
}

ModelShapes PublishedQwen(std::string_view size, std::string name) {
  const auto shape = FindCheckpointShape(size);
  VERBATIM_CHECK(shape.ok());
  const auto config = ParseQwen35Config(ConfigJson(*shape, CheckpointFormats()[0]), nullptr, "");
  VERBATIM_CHECK(config.ok());
  ModelShapes shapes = ShapesOfConfig(*config);
  shapes.name = std::move(name);
  const int64_t hidden = config->hidden_size;
  const int64_t query = int64_t{config->num_attention_heads} * config->head_dim;
  const int64_t key = int64_t{config->num_key_value_heads} * config->head_dim;
  const int64_t middle = config->intermediate_size;
  shapes.matrices = {
      {"in_proj_qkv", config->conv_dim(), hidden},
      {"in_proj_z", config->value_dim(), hidden},
      {"in_proj_a", config->linear_num_value_heads, hidden},
      {"in_proj_b", config->linear_num_value_heads, hidden},
      {"out_proj", hidden, config->value_dim()},
      {"q_proj", 2 * query, hidden},
      {"k_proj", key, hidden},
      {"v_proj", key, hidden},
      {"o_proj", hidden, query},
      {"gate_proj", middle, hidden},
      {"up_proj", middle, hidden},
      {"down_proj", hidden, middle},
      {"lm_head", config->vocab_size, hidden},
      {"mtp.fc", hidden, 2 * hidden},
  };
  shapes.embedding = {"embed_tokens", config->vocab_size, hidden};
  return shapes;
}

// gemma4.md 1: two kinds of attention layers, sliding ones with heads of 256 and full ones with
// heads of 512 whose values are their keys.
struct GemmaShape {
  std::string_view name;
  int64_t hidden_size;
  int64_t intermediate_size;
  int num_heads;
  int sliding_kv_heads;
  int full_kv_heads;
};
constexpr GemmaShape kGemmas[] = {{"Gemma 4 12B", 3840, 15360, 16, 8, 1},
                                  {"Gemma 4 31B", 5376, 21504, 32, 16, 4}};
constexpr int kSlidingHeadDim = 256;
constexpr int kFullHeadDim = 512;
constexpr int64_t kGemmaVocabulary = 262144;

ModelShapes PublishedGemma(const GemmaShape& gemma) {
  ModelShapes shapes;
  shapes.name = gemma.name;
  const int64_t hidden = gemma.hidden_size;
  shapes.hidden_size = hidden;
  shapes.vocab_size = kGemmaVocabulary;
  shapes.attentions = {{.name = "sliding layers, inside the window",
                        .num_heads = gemma.num_heads,
                        .num_kv_heads = gemma.sliding_kv_heads,
                        .head_dim = kSlidingHeadDim,
                        .rotary_dim = kSlidingHeadDim,
                        .rope_theta = 1e4},
                       {.name = "full layers",
                        .num_heads = gemma.num_heads,
                        .num_kv_heads = gemma.full_kv_heads,
                        .head_dim = kFullHeadDim,
                        .rotary_dim = kFullHeadDim / 4,
                        .rope_theta = 1e6}};
  for (const AttentionShape& attention : shapes.attentions) {
    const int64_t query = int64_t{attention.num_heads} * attention.head_dim;
    const int64_t key = int64_t{attention.num_kv_heads} * attention.head_dim;
    shapes.matrices.push_back({"q_proj", query, hidden});
    shapes.matrices.push_back({"k_proj", key, hidden});
    if (attention.head_dim == kSlidingHeadDim) shapes.matrices.push_back({"v_proj", key, hidden});
    shapes.matrices.push_back({"o_proj", hidden, query});
  }
  shapes.matrices.push_back({"gate_proj", gemma.intermediate_size, hidden});
  shapes.matrices.push_back({"up_proj", gemma.intermediate_size, hidden});
  shapes.matrices.push_back({"down_proj", hidden, gemma.intermediate_size});
  shapes.matrices.push_back({"lm_head", kGemmaVocabulary, hidden});
  shapes.embedding = {"embed_tokens", kGemmaVocabulary, hidden};
  return shapes;
}

ModelShapes EdgeShapes() {
  ModelShapes shapes;
  shapes.name = "odd ones";
  // 5, 11 and 3 groups of 64, 32 and 128; 1000 is 31.25 groups of 32. 72 outputs are 4.5 tiles.
  shapes.matrices = {{"5 groups of 64", 72, 320},
                     {"11 groups of 32", 72, 352},
                     {"3 groups of 128", 72, 384},
                     {"padding", 72, 1000}};
  shapes.all_group_sizes = true;
  return shapes;
}

// "layers.3.mlp.up_proj" and "mtp.layers.0.mlp.up_proj" are both "up_proj"; "mtp.fc" stays.
std::string ShortName(const std::string& name) {
  if (name.find(".layers.") == name.npos && !name.starts_with("layers.")) return name;
  return name.substr(name.rfind('.') + 1);
}

}  // namespace

std::vector<ModelShapes> PublishedShapes() {
  std::vector<ModelShapes> all = {PublishedQwen("27b", "Qwen3.5 27B"),
                                  PublishedQwen("0.8b", "Qwen3.5 0.8B")};
  for (const GemmaShape& gemma : kGemmas) all.push_back(PublishedGemma(gemma));
  all.push_back(EdgeShapes());
  return all;
}

Expected<ModelShapes> ShapesOfModel(const std::string& model) {
  VERBATIM_ASSIGN_OR_RETURN(Checkpoint loaded, LoadCheckpoint({.model = model}));
  const auto checkpoint = std::make_shared<const Checkpoint>(std::move(loaded));
  ModelShapes shapes = ShapesOfConfig(checkpoint->config);
  shapes.name = model;
  shapes.checkpoint = checkpoint;
  const bool tied = checkpoint->config.tie_word_embeddings;
  for (const auto& [name, matrix] : checkpoint->weights.matrices) {
    const MatrixShape shape = {ShortName(name), matrix.rows, matrix.cols, &matrix};
    if (name == "embed_tokens") shapes.embedding = shape;
    if (name != "embed_tokens" || tied) shapes.matrices.push_back(shape);
  }
  return shapes;
}

}  // namespace verbatim::parity
