// The order of ops of one gated-delta mixer. No arithmetic of its own but exp(A_log) at load.
#include "model/qwen35/gated_delta_layer.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "numerics/elementary.h"

namespace verbatim::qwen35 {
namespace {

// [conv_dim, 4] as checkpoints have it to [4][conv_dim] as kernels read it: a lane owns a channel.
Expected<DeviceVector> UploadConvolution(const ModelWeights& weights, const std::string& name,
                                         int64_t conv_dim, ops::Backend& backend) {
  VERBATIM_ASSIGN_OR_RETURN(const WeightVector* vector, weights.Vector(name));
  if (static_cast<int64_t>(vector->values.size()) != conv_dim * ops::kConvTaps) {
    return MakeError(StatusCode::kCorrupt, vector->name,
                     fmt::format("[{}, {}]", conv_dim, ops::kConvTaps),
                     fmt::format("{} values", vector->values.size()));
  }
  std::vector<float> by_tap(vector->values.size());
  for (int64_t channel = 0; channel < conv_dim; ++channel) {
    for (int tap = 0; tap < ops::kConvTaps; ++tap) {
      by_tap[tap * conv_dim + channel] = vector->values[channel * ops::kConvTaps + tap];
    }
  }
  return DeviceVector::From(backend, by_tap);
}

Expected<DeviceVector> UploadDecayRate(const ModelWeights& weights, const std::string& name,
                                       int64_t num_heads, ops::Backend& backend) {
  VERBATIM_ASSIGN_OR_RETURN(const WeightVector* vector, weights.Vector(name));
  if (static_cast<int64_t>(vector->values.size()) != num_heads) {
    return MakeError(StatusCode::kCorrupt, vector->name, fmt::format("{} values", num_heads),
                     fmt::format("{}", vector->values.size()));
  }
  std::vector<float> rate(vector->values);
  for (float& value : rate) value = elementary::Exp(value);
  return DeviceVector::From(backend, rate);
}

}  // namespace

Expected<GatedDeltaLayer> GatedDeltaLayer::Load(const ModelWeights& weights,
                                                const std::string& prefix,
                                                const Qwen35Config& config, ops::Backend& backend) {
  const int64_t hidden = config.hidden_size;
  const int64_t num_heads = config.linear_num_value_heads;
  GatedDeltaLayer layer;
  VERBATIM_ASSIGN_OR_RETURN(layer.in_proj_qkv_, PrepareMatrix(weights, prefix + ".in_proj_qkv",
                                                              config.conv_dim(), hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.in_proj_z_, PrepareMatrix(weights, prefix + ".in_proj_z",
                                                            config.value_dim(), hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(
      layer.in_proj_a_, PrepareMatrix(weights, prefix + ".in_proj_a", num_heads, hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(
      layer.in_proj_b_, PrepareMatrix(weights, prefix + ".in_proj_b", num_heads, hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.out_proj_, PrepareMatrix(weights, prefix + ".out_proj", hidden,
                                                           config.value_dim(), backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.conv_weight_, UploadConvolution(weights, prefix + ".conv1d",
                                                                  config.conv_dim(), backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.decay_rate_,
                            UploadDecayRate(weights, prefix + ".A_log", num_heads, backend));
  VERBATIM_ASSIGN_OR_RETURN(layer.dt_bias_,
                            UploadVector(weights, prefix + ".dt_bias", num_heads, backend));
  VERBATIM_ASSIGN_OR_RETURN(
      layer.norm_, UploadVector(weights, prefix + ".norm", config.linear_value_head_dim, backend));
  return layer;
}

void GatedDeltaLayer::Forward(ops::Backend& backend, const Qwen35Config& config,
                              const ops::StepView& step, const ops::RecurrentView& state,
                              const Activations& activations) const {
  const int64_t num_heads = config.linear_num_value_heads;
  const ops::LinearTask projections[] = {
      {.weights = in_proj_qkv_.get(),
       .out = activations.mixed.data(),
       .out_stride = config.conv_dim()},
      {.weights = in_proj_z_.get(), .out = activations.z.data(), .out_stride = config.value_dim()},
      {.weights = in_proj_a_.get(), .out = activations.a.data(), .out_stride = num_heads},
      {.weights = in_proj_b_.get(), .out = activations.b.data(), .out_stride = num_heads},
  };
  backend.Linear({.x = activations.normed.data(),
                  .x_stride = config.hidden_size,
                  .num_rows = step.num_rows,
                  .tasks = projections});
  const double key_dim = config.linear_key_head_dim;
  backend.ConvAndGatedDelta({.step = step,
                             .state = state,
                             .mixed = activations.mixed.data(),
                             .a = activations.a.data(),
                             .b = activations.b.data(),
                             .conv_weight = conv_weight_.data(),
                             .decay_rate = decay_rate_.data(),
                             .dt_bias = dt_bias_.data(),
                             .query_scale = static_cast<float>(1.0 / std::sqrt(key_dim)),
                             .out = activations.delta_out.data()});
  backend.GatedNorm({.x = activations.delta_out.data(),
                     .z = activations.z.data(),
                     .weight = norm_.data(),
                     .eps = static_cast<float>(config.rms_norm_eps),
                     .num_rows = step.num_rows,
                     .num_heads = config.linear_num_value_heads,
                     .head_dim = config.linear_value_head_dim,
                     .out = activations.delta_out.data()});
  const ops::LinearTask output[] = {{.weights = out_proj_.get(),
                                     .out = activations.residual.data(),
                                     .out_stride = config.hidden_size,
                                     .residual = activations.residual.data()}};
  backend.Linear({.x = activations.delta_out.data(),
                  .x_stride = config.value_dim(),
                  .num_rows = step.num_rows,
                  .tasks = output});
}

void GatedDeltaLayer::AppendLinears(LinearList& out) const {
  out.insert(out.end(), {in_proj_qkv_.get(), in_proj_z_.get(), in_proj_a_.get(), in_proj_b_.get(),
                         out_proj_.get()});
}

}  // namespace verbatim::qwen35
