// config.json of the Qwen3.5 family, in both nestings (qwen3_5.md section 1).
#include "checkpoint/qwen35_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "checkpoint/json.h"

namespace verbatim {
namespace {

using LayerType = Qwen35Config::LayerType;

// Caps that keep every later product in 63 bits and every count in an int32. The largest known
// model has hidden 5120, 64 layers, vocabulary 248,320.
constexpr int64_t kMaxDim = int64_t{1} << 20;
constexpr int64_t kMaxVocab = int64_t{1} << 30;
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 4096;
constexpr int64_t kMaxContext = int64_t{1} << 30;

// A tile of value channels and of a head in the caches is 16 lanes wide; a chain step of the
// delta rule takes 4 keys (numerics.md 5, 6).
constexpr int64_t kHeadTile = 16;
constexpr int64_t kKeyStep = 4;
constexpr int64_t kConvTaps = 4;

Status CheckModelType(const std::string& type, const std::string& where) {
  if (type == "qwen3_5" || type == "qwen3_5_text") return {};
  constexpr std::string_view kExpected = "model_type qwen3_5 or qwen3_5_text";
  if (type == "qwen3_5_moe" || type == "qwen3_5_moe_text") {
    return MakeError(StatusCode::kUnsupported, where, kExpected,
                     type + " (mixture of experts, which this build cannot run)",
                     "a dense Qwen3.5 model");
  }
  if (type == "qwen3_next" || type == "qwen4_exp") {
    return MakeError(StatusCode::kUnsupported, where, kExpected,
                     type + " (a related but different architecture)", "a dense Qwen3.5 model");
  }
  if (type == "qwen3_5_mtp") {
    return MakeError(StatusCode::kUnsupported, where, kExpected,
                     type + " (MTP weights without a model)",
                     "giving this folder as the draft model");
  }
  return MakeError(StatusCode::kUnsupported, where, kExpected, type.substr(0, 80),
                   "a dense Qwen3.5 model");
}

// A key that must have one value, if it is there at all.
Status RequireIfPresent(const JsonFields& fields, std::string_view key,
                        const nlohmann::json& wanted) {
  const nlohmann::json* value = fields.Find(key);
  if (value == nullptr || *value == wanted) return {};
  return MakeError(StatusCode::kUnsupported, fields.Where(key), JsonForMessage(wanted),
                   JsonForMessage(*value));
}

Status RequireMultiple(const JsonFields& fields, std::string_view key, int64_t value,
                       int64_t factor, std::string_view what) {
  if (value % factor == 0) return {};
  return MakeError(StatusCode::kUnsupported, fields.Where(key), fmt::format("{}", what),
                   fmt::format("{}", value));
}

Status CheckVariant(const JsonFields& text) {
  VERBATIM_ASSIGN_OR_RETURN(const bool gate, text.Bool("attn_output_gate"));
  if (!gate) {
    return MakeError(StatusCode::kUnsupported, text.Where("attn_output_gate"), "true", "false");
  }
  VERBATIM_RETURN_IF_ERROR(RequireIfPresent(text, "hidden_act", "silu"));
  VERBATIM_RETURN_IF_ERROR(RequireIfPresent(text, "attention_bias", false));
  VERBATIM_RETURN_IF_ERROR(RequireIfPresent(text, "mlp_only_layers", nlohmann::json::array()));
  // The recurrent state is always binary32 (numerics.md 6).
  VERBATIM_RETURN_IF_ERROR(RequireIfPresent(text, "mamba_ssm_dtype", "float32"));
  if (const nlohmann::json* experts = text.Find("num_experts");
      experts != nullptr && *experts != 0) {
    return MakeError(StatusCode::kUnsupported, text.Where("num_experts"), "a dense model",
                     JsonForMessage(*experts));
  }
  // The activation of the gated-delta output norm; swish is silu.
  if (text.Has("output_gate_type")) {
    VERBATIM_ASSIGN_OR_RETURN(const std::string type, text.String("output_gate_type"));
    if (type != "swish" && type != "silu") {
      return MakeError(StatusCode::kUnsupported, text.Where("output_gate_type"), "swish or silu",
                       type.substr(0, 80));
    }
  }
  return {};
}

Status ParseLayerTypes(const JsonFields& text, Qwen35Config* config) {
  const nlohmann::json* list = text.Find("layer_types");
  if (list == nullptr) {
    if (!text.Has("full_attention_interval")) {
      return MakeError(StatusCode::kCorrupt, text.Where("layer_types"),
                       "layer_types or full_attention_interval", "neither");
    }
    VERBATIM_ASSIGN_OR_RETURN(const int64_t interval,
                              text.Integer("full_attention_interval", 1, kMaxLayers));
    for (int64_t i = 0; i < config->num_hidden_layers; ++i) {
      config->layer_types.push_back((i + 1) % interval != 0 ? LayerType::kLinearAttention
                                                            : LayerType::kFullAttention);
    }
  } else {
    const std::string where = text.Where("layer_types");
    if (!list->is_array() || list->size() != static_cast<size_t>(config->num_hidden_layers)) {
      return MakeError(
          StatusCode::kCorrupt, where,
          fmt::format("a list of num_hidden_layers = {} layer types", config->num_hidden_layers),
          list->is_array() ? fmt::format("{} of them", list->size()) : JsonForMessage(*list));
    }
    for (const nlohmann::json& type : *list) {
      if (type == "linear_attention") {
        config->layer_types.push_back(LayerType::kLinearAttention);
      } else if (type == "full_attention") {
        config->layer_types.push_back(LayerType::kFullAttention);
      } else {
        return MakeError(StatusCode::kUnsupported, where, "linear_attention or full_attention",
                         JsonForMessage(type));
      }
    }
  }
  // The layout of the files is told from a convolution's shape (qwen3_5.md 6.2).
  if (std::ranges::count(config->layer_types, LayerType::kLinearAttention) == 0) {
    return MakeError(StatusCode::kUnsupported, text.Where("layer_types"),
                     "at least one linear_attention layer", "full_attention only");
  }
  return {};
}

// rope_parameters wins over the flattened keys; partial_rotary_factor may be missing everywhere.
Status ParseRope(const JsonFields& text, Qwen35Config* config) {
  std::optional<JsonFields> rope;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    if (!text.Has(key)) continue;
    VERBATIM_ASSIGN_OR_RETURN(const JsonFields object, text.Object(key));
    for (const std::string_view type_key : {"rope_type", "type"}) {
      if (!object.Has(type_key)) continue;
      VERBATIM_ASSIGN_OR_RETURN(const std::string type, object.String(type_key));
      // Some exports write "mrope" for the interleaved slots, which is plain rope for text.
      if (type != "default" && type != "mrope") {
        return MakeError(StatusCode::kUnsupported, object.Where(type_key), "rope_type default",
                         type.substr(0, 80), "the model's own config without rope scaling");
      }
    }
    if (!rope.has_value()) rope = object;
  }
  const auto number = [&](std::string_view key) {
    return rope.has_value() && rope->Has(key) ? rope->Number(key) : text.Number(key);
  };
  VERBATIM_ASSIGN_OR_RETURN(config->rope_theta, number("rope_theta"));
  if (!(config->rope_theta > 1.0)) {
    return MakeError(StatusCode::kCorrupt, text.Where("rope_theta"), "a base above 1",
                     fmt::format("{}", config->rope_theta));
  }
  double factor = 0.25;  // of the whole family
  if ((rope.has_value() && rope->Has("partial_rotary_factor")) ||
      text.Has("partial_rotary_factor")) {
    VERBATIM_ASSIGN_OR_RETURN(factor, number("partial_rotary_factor"));
  }
  const double rotary = config->head_dim * factor;
  if (!(rotary >= 2 && rotary <= config->head_dim) || static_cast<int>(rotary) % 2 != 0) {
    return MakeError(StatusCode::kCorrupt, text.Where("partial_rotary_factor"),
                     fmt::format("an even number of rotated dimensions from 2 to head_dim = {}",
                                 config->head_dim),
                     fmt::format("{} ({} dimensions)", factor, rotary));
  }
  config->rotary_dim = static_cast<int>(rotary);
  return {};
}

Status ParseShapes(const JsonFields& text, Qwen35Config* config) {
  const auto read = [&](std::string_view key, int64_t max, auto* out) -> Status {
    VERBATIM_ASSIGN_OR_RETURN(const int64_t value, text.Integer(key, 1, max));
    *out = static_cast<std::remove_pointer_t<decltype(out)>>(value);
    return {};
  };
  VERBATIM_RETURN_IF_ERROR(read("hidden_size", kMaxDim, &config->hidden_size));
  VERBATIM_RETURN_IF_ERROR(read("intermediate_size", kMaxDim, &config->intermediate_size));
  VERBATIM_RETURN_IF_ERROR(read("vocab_size", kMaxVocab, &config->vocab_size));
  VERBATIM_RETURN_IF_ERROR(read("num_hidden_layers", kMaxLayers, &config->num_hidden_layers));
  VERBATIM_RETURN_IF_ERROR(read("num_attention_heads", kMaxHeads, &config->num_attention_heads));
  VERBATIM_RETURN_IF_ERROR(read("num_key_value_heads", kMaxHeads, &config->num_key_value_heads));
  VERBATIM_RETURN_IF_ERROR(read("head_dim", kMaxHeadDim, &config->head_dim));
  VERBATIM_RETURN_IF_ERROR(read("linear_num_key_heads", kMaxHeads, &config->linear_num_key_heads));
  VERBATIM_RETURN_IF_ERROR(
      read("linear_num_value_heads", kMaxHeads, &config->linear_num_value_heads));
  VERBATIM_RETURN_IF_ERROR(read("linear_key_head_dim", kMaxHeadDim, &config->linear_key_head_dim));
  VERBATIM_RETURN_IF_ERROR(
      read("linear_value_head_dim", kMaxHeadDim, &config->linear_value_head_dim));
  VERBATIM_RETURN_IF_ERROR(
      read("linear_conv_kernel_dim", kMaxHeadDim, &config->linear_conv_kernel_dim));
  VERBATIM_RETURN_IF_ERROR(
      read("max_position_embeddings", kMaxContext, &config->max_position_embeddings));

  VERBATIM_RETURN_IF_ERROR(RequireMultiple(text, "num_attention_heads", config->num_attention_heads,
                                           config->num_key_value_heads,
                                           "a multiple of num_key_value_heads"));
  VERBATIM_RETURN_IF_ERROR(
      RequireMultiple(text, "linear_num_value_heads", config->linear_num_value_heads,
                      config->linear_num_key_heads, "a multiple of linear_num_key_heads"));
  VERBATIM_RETURN_IF_ERROR(
      RequireMultiple(text, "head_dim", config->head_dim, kHeadTile, "a multiple of 16"));
  VERBATIM_RETURN_IF_ERROR(RequireMultiple(
      text, "linear_value_head_dim", config->linear_value_head_dim, kHeadTile, "a multiple of 16"));
  VERBATIM_RETURN_IF_ERROR(RequireMultiple(text, "linear_key_head_dim", config->linear_key_head_dim,
                                           kKeyStep, "a multiple of 4"));
  if (config->linear_conv_kernel_dim != kConvTaps) {
    return MakeError(StatusCode::kUnsupported, text.Where("linear_conv_kernel_dim"), "4",
                     fmt::format("{}", config->linear_conv_kernel_dim));
  }
  return {};
}

// Appends the token ids of an eos_token_id entry: an integer, a list of them, or nothing.
Status AddEosIds(const JsonFields& fields, Qwen35Config* config) {
  const nlohmann::json* value = fields.Find("eos_token_id");
  if (value == nullptr) return {};
  const nlohmann::json list = value->is_array() ? *value : nlohmann::json::array({*value});
  for (const nlohmann::json& id : list) {
    const int64_t number = id.is_number_integer() ? id.get<int64_t>() : -1;
    if (number < 0 || number >= config->vocab_size) {
      return MakeError(StatusCode::kCorrupt, fields.Where("eos_token_id"),
                       fmt::format("token ids below vocab_size = {}", config->vocab_size),
                       JsonForMessage(id));
    }
    const auto token = static_cast<int32_t>(number);
    if (std::ranges::count(config->eos_token_ids, token) == 0) {
      config->eos_token_ids.push_back(token);
    }
  }
  return {};
}

}  // namespace

Expected<Qwen35Config> ParseQwen35Config(const nlohmann::json& json,
                                         const nlohmann::json* generation_config,
                                         const std::string& where) {
  const JsonFields top(json, where);
  Qwen35Config config;
  VERBATIM_ASSIGN_OR_RETURN(config.model_type, top.String("model_type"));
  VERBATIM_RETURN_IF_ERROR(CheckModelType(config.model_type, top.Where("model_type")));
  JsonFields text = top;
  if (top.Has("text_config")) {
    VERBATIM_ASSIGN_OR_RETURN(text, top.Object("text_config"));
    if (text.Has("model_type")) {
      VERBATIM_ASSIGN_OR_RETURN(const std::string inner, text.String("model_type"));
      VERBATIM_RETURN_IF_ERROR(CheckModelType(inner, text.Where("model_type")));
    }
  }
  VERBATIM_RETURN_IF_ERROR(CheckVariant(text));
  VERBATIM_RETURN_IF_ERROR(ParseShapes(text, &config));
  VERBATIM_RETURN_IF_ERROR(ParseLayerTypes(text, &config));
  VERBATIM_RETURN_IF_ERROR(ParseRope(text, &config));
  VERBATIM_ASSIGN_OR_RETURN(config.rms_norm_eps, text.Number("rms_norm_eps"));
  // Added in binary32, where it must not vanish.
  if (!(static_cast<float>(config.rms_norm_eps) > 0 && config.rms_norm_eps < 1)) {
    return MakeError(StatusCode::kCorrupt, text.Where("rms_norm_eps"), "a number between 0 and 1",
                     fmt::format("{}", config.rms_norm_eps));
  }
  const JsonFields& tie = text.Has("tie_word_embeddings") ? text : top;
  VERBATIM_ASSIGN_OR_RETURN(config.tie_word_embeddings, tie.Bool("tie_word_embeddings"));
  if (text.Has("mtp_num_hidden_layers")) {
    VERBATIM_ASSIGN_OR_RETURN(const int64_t layers,
                              text.Integer("mtp_num_hidden_layers", 0, kMaxLayers));
    config.mtp_num_hidden_layers = static_cast<int>(layers);
  }
  if (text.Has("mtp_use_dedicated_embeddings")) {
    VERBATIM_ASSIGN_OR_RETURN(config.mtp_use_dedicated_embeddings,
                              text.Bool("mtp_use_dedicated_embeddings"));
  }
  if (generation_config != nullptr) {
    VERBATIM_RETURN_IF_ERROR(
        AddEosIds(JsonFields(*generation_config, "generation_config.json"), &config));
  }
  VERBATIM_RETURN_IF_ERROR(AddEosIds(text, &config));
  VERBATIM_RETURN_IF_ERROR(AddEosIds(top, &config));
  return config;
}

}  // namespace verbatim
