// The order of ops of one gated attention mixer. No arithmetic of its own.
#include "model/qwen35/attention_layer.h"

#include <cmath>

namespace verbatim::qwen35 {

Expected<AttentionLayer> AttentionLayer::Load(const ModelWeights& weights,
                                              const std::string& prefix, const Qwen35Config& config,
                                              ops::Backend& backend) {
  const int64_t hidden = config.hidden_size;
  const int64_t query_width = int64_t{config.num_attention_heads} * config.head_dim;
  const int64_t key_width = int64_t{config.num_key_value_heads} * config.head_dim;
  AttentionLayer layer;
  VERBATIM_ASSIGN_OR_RETURN(
      layer.q_proj_, PrepareMatrix(weights, prefix + ".q_proj", 2 * query_width, hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.k_proj_,
                            PrepareMatrix(weights, prefix + ".k_proj", key_width, hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.v_proj_,
                            PrepareMatrix(weights, prefix + ".v_proj", key_width, hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(
      layer.o_proj_, PrepareMatrix(weights, prefix + ".o_proj", hidden, query_width, backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.q_norm_,
                            UploadVector(weights, prefix + ".q_norm", config.head_dim, backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.k_norm_,
                            UploadVector(weights, prefix + ".k_norm", config.head_dim, backend));
  return layer;
}

void AttentionLayer::Forward(ops::Backend& backend, const Qwen35Config& config,
                             const ops::StepView& step, const ops::KvCacheView& cache,
                             const RotaryDevice& rotary, const Activations& activations) const {
  const int head_dim = config.head_dim;
  const int64_t query_gate_width = int64_t{2} * config.num_attention_heads * head_dim;
  const int64_t key_width = int64_t{config.num_key_value_heads} * head_dim;
  const float* query_gate = activations.query_gate.data();

  const ops::LinearTask projections[] = {
      {.weights = q_proj_.get(),
       .out = activations.query_gate.data(),
       .out_stride = query_gate_width},
      {.weights = k_proj_.get(), .out = activations.key.data(), .out_stride = key_width},
      {.weights = v_proj_.get(), .out = activations.value.data(), .out_stride = key_width},
  };
  backend.Linear({.x = activations.normed.data(),
                  .x_stride = config.hidden_size,
                  .num_rows = step.num_rows,
                  .tasks = projections});
  backend.RopeAndCache({.step = step,
                        .q = query_gate,
                        .q_stride = query_gate_width,
                        .q_head_stride = 2 * head_dim,
                        .k = activations.key.data(),
                        .v = activations.value.data(),
                        .q_norm_weight = q_norm_.data(),
                        .k_norm_weight = k_norm_.data(),
                        .eps = static_cast<float>(config.rms_norm_eps),
                        .num_heads = config.num_attention_heads,
                        .rotary_dim = config.rotary_dim,
                        .cos_table = rotary.cos.data(),
                        .sin_table = rotary.sin.data(),
                        .cache = cache,
                        .q_out = activations.query.data()});
  backend.Attention({.step = step,
                     .q = activations.query.data(),
                     .gate = query_gate + head_dim,
                     .gate_stride = query_gate_width,
                     .gate_head_stride = 2 * head_dim,
                     .num_heads = config.num_attention_heads,
                     .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim))),
                     .cache = cache,
                     .out = activations.attended.data()});
  const ops::LinearTask output[] = {{.weights = o_proj_.get(),
                                     .out = activations.residual.data(),
                                     .out_stride = config.hidden_size,
                                     .residual = activations.residual.data()}};
  backend.Linear({.x = activations.attended.data(),
                  .x_stride = query_gate_width / 2,
                  .num_rows = step.num_rows,
                  .tasks = output});
}

void AttentionLayer::AppendLinears(LinearList& out) const {
  out.insert(out.end(), {q_proj_.get(), k_proj_.get(), v_proj_.get(), o_proj_.get()});
}

}  // namespace verbatim::qwen35
