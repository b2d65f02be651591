// Loading the decoder and the order of its layers. No arithmetic of its own.
#include "model/qwen35/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "numerics/rotary.h"

namespace verbatim::qwen35 {

const float* HeadLogits(ops::Backend& backend, const ops::PreparedLinear& head,
                        const DeviceVector& hidden, std::span<const int32_t> rows,
                        const DeviceVector& gathered, const DeviceVector& logits) {
  const int64_t width = head.in_features();
  backend.GatherRows({.x = hidden.data(),
                      .x_stride = width,
                      .rows = rows,
                      .width = width,
                      .out = gathered.data(),
                      .out_stride = width});
  const ops::LinearTask task[] = {
      {.weights = &head, .out = logits.data(), .out_stride = head.out_features()}};
  backend.Linear({.x = gathered.data(),
                  .x_stride = width,
                  .num_rows = static_cast<int>(rows.size()),
                  .tasks = task});
  backend.Synchronize();
  return logits.data();
}

Expected<std::unique_ptr<Model>> Target::Load(const Checkpoint& checkpoint, ops::Backend& backend,
                                              const ModelOptions& options) {
  std::unique_ptr<Target> target(new Target(checkpoint, backend));
  VERBATIM_RETURN_IF_ERROR(target->LoadEnds(checkpoint.weights, options));
  VERBATIM_RETURN_IF_ERROR(target->LoadLayers(checkpoint.weights, options));
  VERBATIM_RETURN_IF_ERROR(target->ReserveWorkspace(options));
  return std::unique_ptr<Model>(std::move(target));
}

Status Target::LoadEnds(const ModelWeights& weights, const ModelOptions& options) {
  const int64_t hidden = config_.hidden_size;
  VERBATIM_ASSIGN_OR_RETURN(
      embedding_, PrepareMatrix(weights, "embed_tokens", config_.vocab_size, hidden, backend_));
  if (!config_.tie_word_embeddings) {
    VERBATIM_ASSIGN_OR_RETURN(
        lm_head_, PrepareMatrix(weights, "lm_head", config_.vocab_size, hidden, backend_));
  }
  VERBATIM_ASSIGN_OR_RETURN(final_norm_, UploadVector(weights, "norm", hidden, backend_));
  const RotaryTables tables =
      MakeRotaryTables(config_.rope_theta, config_.rotary_dim, options.num_positions);
  VERBATIM_ASSIGN_OR_RETURN(rotary_.cos, DeviceVector::From(backend_, tables.cos));
  VERBATIM_ASSIGN_OR_RETURN(rotary_.sin, DeviceVector::From(backend_, tables.sin));
  return {};
}

Status Target::LoadLayers(const ModelWeights& weights, const ModelOptions& options) {
  const int64_t hidden = config_.hidden_size;
  int num_attention = 0;
  int num_recurrent = 0;
  for (int i = 0; i < config_.num_hidden_layers; ++i) {
    const std::string prefix = fmt::format("layers.{}", i);
    if (options.progress) options.progress(double(i) / config_.num_hidden_layers, prefix);
    Layer layer;
    VERBATIM_ASSIGN_OR_RETURN(layer.input_norm,
                              UploadVector(weights, prefix + ".input_layernorm", hidden, backend_));
    if (config_.layer_types[i] == Qwen35Config::LayerType::kFullAttention) {
      layer.cache_layer = num_attention++;
      VERBATIM_ASSIGN_OR_RETURN(
          layer.mixer, AttentionLayer::Load(weights, prefix + ".self_attn", config_, backend_));
    } else {
      layer.cache_layer = num_recurrent++;
      VERBATIM_ASSIGN_OR_RETURN(
          layer.mixer, GatedDeltaLayer::Load(weights, prefix + ".linear_attn", config_, backend_));
    }
    VERBATIM_ASSIGN_OR_RETURN(
        layer.mlp_norm,
        UploadVector(weights, prefix + ".post_attention_layernorm", hidden, backend_));
    VERBATIM_ASSIGN_OR_RETURN(layer.mlp, Mlp::Load(weights, prefix + ".mlp", config_, backend_));
    layers_.push_back(std::move(layer));
  }
  num_run_layers_ = layers_.size();
  if (options.progress) options.progress(1.0, "layers");

  shape_ = {.vocab_size = config_.vocab_size,
            .hidden_size = hidden,
            .num_kv_layers = num_attention + (options.with_draft_head ? 1 : 0),
            .kv = {.num_kv_heads = config_.num_key_value_heads,
                   .head_dim = config_.head_dim,
                   .type = options.kv_type},
            .num_recurrent_layers = num_recurrent,
            .recurrent = {.num_key_heads = config_.linear_num_key_heads,
                          .num_value_heads = config_.linear_num_value_heads,
                          .key_head_dim = config_.linear_key_head_dim,
                          .value_head_dim = config_.linear_value_head_dim,
                          .max_drafts = options.max_drafts}};
  if (options.with_draft_head) {
    VERBATIM_ASSIGN_OR_RETURN(mtp_, MtpHead::Load(weights,
                                                  {.backend = &backend_,
                                                   .config = &config_,
                                                   .embedding = embedding_.get(),
                                                   .lm_head = &lm_head(),
                                                   .rotary = &rotary_,
                                                   .activations = &activations_,
                                                   .kv_layer = num_attention},
                                                  options.max_rows, options.max_logit_rows));
  }
  return {};
}

Status Target::ReserveWorkspace(const ModelOptions& options) {
  const int64_t query_width = int64_t{config_.num_attention_heads} * config_.head_dim;
  const int64_t max_in_features = std::max(
      {2 * config_.hidden_size, config_.intermediate_size, query_width, config_.value_dim()});
  VERBATIM_RETURN_IF_ERROR(
      backend_.Reserve({.max_rows = std::max(options.max_rows, options.max_logit_rows),
                        .max_in_features = max_in_features,
                        .recurrent = shape_.recurrent,
                        .num_heads = config_.num_attention_heads,
                        .head_dim = config_.head_dim}));
  VERBATIM_ASSIGN_OR_RETURN(activations_, Activations::Create(backend_, config_, options.max_rows));
  VERBATIM_ASSIGN_OR_RETURN(hidden_,
                            DeviceVector::Zeros(backend_, config_.hidden_size * options.max_rows));
  VERBATIM_ASSIGN_OR_RETURN(
      logit_input_, DeviceVector::Zeros(backend_, config_.hidden_size * options.max_logit_rows));
  VERBATIM_ASSIGN_OR_RETURN(
      logits_, DeviceVector::Zeros(backend_, config_.vocab_size * options.max_logit_rows));
  return {};
}

void Target::Norm(const float* x, const DeviceVector& weight, int num_rows, float* out) {
  backend_.RmsNorm({.x = x,
                    .x_stride = config_.hidden_size,
                    .weight = weight.data(),
                    .eps = static_cast<float>(config_.rms_norm_eps),
                    .num_rows = num_rows,
                    .width = config_.hidden_size,
                    .out = out,
                    .out_stride = config_.hidden_size});
}

void Target::Forward(std::span<const int32_t> tokens, const ops::StepView& step,
                     const Caches& caches) {
  float* residual = activations_.residual.data();
  backend_.Embed({.table = embedding_.get(),
                  .ids = tokens,
                  .out = residual,
                  .out_stride = config_.hidden_size});
  for (size_t i = 0; i < num_run_layers_; ++i) {
    const Layer& layer = layers_[i];
    Norm(residual, layer.input_norm, step.num_rows, activations_.normed.data());
    if (const auto* attention = std::get_if<AttentionLayer>(&layer.mixer)) {
      attention->Forward(backend_, config_, step, caches.kv->View(layer.cache_layer), rotary_,
                         activations_);
    } else {
      std::get<GatedDeltaLayer>(layer.mixer)
          .Forward(backend_, config_, step, caches.recurrent->View(layer.cache_layer),
                   activations_);
    }
    Norm(residual, layer.mlp_norm, step.num_rows, activations_.normed.data());
    layer.mlp.Forward(backend_, config_, step.num_rows, activations_);
    if (observer_) {
      backend_.Synchronize();
      observer_(static_cast<int>(i), residual, step.num_rows);
    }
  }
  Norm(residual, final_norm_, step.num_rows, hidden_.data());
}

const float* Target::Logits(std::span<const int32_t> rows) {
  return HeadLogits(backend_, lm_head(), hidden_, rows, logit_input_, logits_);
}

LinearList Target::linears() const {
  LinearList list;
  for (const Layer& layer : layers_) {
    std::visit([&](const auto& mixer) { mixer.AppendLinears(list); }, layer.mixer);
    layer.mlp.AppendLinears(list);
  }
  list.push_back(&lm_head());
  return list;
}

void Target::set_num_layers(int num_layers) {
  VERBATIM_CHECK(num_layers >= 1 && static_cast<size_t>(num_layers) <= layers_.size());
  num_run_layers_ = static_cast<size_t>(num_layers);
}

}  // namespace verbatim::qwen35
