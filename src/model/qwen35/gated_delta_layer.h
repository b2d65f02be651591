// GatedDeltaLayer: the linear-attention mixer of Qwen3.5 (qwen3_5.md 3).
#ifndef VERBATIM_MODEL_QWEN35_GATED_DELTA_LAYER_H_
#define VERBATIM_MODEL_QWEN35_GATED_DELTA_LAYER_H_

#include <memory>
#include <string>

#include "model/qwen35/activations.h"

namespace verbatim::qwen35 {

class GatedDeltaLayer {
 public:
  // `prefix` as in "layers.0.linear_attn".
  static Expected<GatedDeltaLayer> Load(const ModelWeights& weights, const std::string& prefix,
                                        const Qwen35Config& config, ops::Backend& backend);

  // residual += out_proj(gated_delta(normed)); reads activations.normed, writes
  // activations.residual.
  void Forward(ops::Backend& backend, const Qwen35Config& config, const ops::StepView& step,
               const ops::RecurrentView& state, const Activations& activations) const;

  void AppendLinears(LinearList& out) const;

 private:
  std::unique_ptr<ops::PreparedLinear> in_proj_qkv_;  // [conv_dim, H]
  std::unique_ptr<ops::PreparedLinear> in_proj_z_;    // [Hv * Dv, H]
  std::unique_ptr<ops::PreparedLinear> in_proj_a_;    // [Hv, H]
  std::unique_ptr<ops::PreparedLinear> in_proj_b_;    // [Hv, H]
  std::unique_ptr<ops::PreparedLinear> out_proj_;     // [H, Hv * Dv]
  DeviceVector conv_weight_;                          // [4][conv_dim]
  DeviceVector decay_rate_;                           // [Hv], exp(A_log)
  DeviceVector dt_bias_;                              // [Hv]
  DeviceVector norm_;                                 // [Dv]
};

}  // namespace verbatim::qwen35

#endif  // VERBATIM_MODEL_QWEN35_GATED_DELTA_LAYER_H_
