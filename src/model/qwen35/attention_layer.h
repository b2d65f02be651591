// AttentionLayer: the gated full-attention mixer of Qwen3.5 (qwen3_5.md 2.3), of the target and of
// its MTP head.
#ifndef VERBATIM_MODEL_QWEN35_ATTENTION_LAYER_H_
#define VERBATIM_MODEL_QWEN35_ATTENTION_LAYER_H_

#include <memory>
#include <string>

#include "model/qwen35/activations.h"

namespace verbatim::qwen35 {

struct RotaryDevice {
  DeviceVector cos;  // [positions, rotary_dim / 2]
  DeviceVector sin;
};

class AttentionLayer {
 public:
  // `prefix` as in "layers.3.self_attn".
  static Expected<AttentionLayer> Load(const ModelWeights& weights, const std::string& prefix,
                                       const Qwen35Config& config, ops::Backend& backend);

  // residual += o_proj(attention(normed)); reads activations.normed, writes activations.residual.
  void Forward(ops::Backend& backend, const Qwen35Config& config, const ops::StepView& step,
               const ops::KvCacheView& cache, const RotaryDevice& rotary,
               const Activations& activations) const;

  void AppendLinears(LinearList& out) const;

 private:
  std::unique_ptr<ops::PreparedLinear> q_proj_;  // [nH * 2 * hd, H]
  std::unique_ptr<ops::PreparedLinear> k_proj_;  // [nKV * hd, H]
  std::unique_ptr<ops::PreparedLinear> v_proj_;  // [nKV * hd, H]
  std::unique_ptr<ops::PreparedLinear> o_proj_;  // [H, nH * hd]
  DeviceVector q_norm_;                          // [hd]
  DeviceVector k_norm_;                          // [hd]
};

}  // namespace verbatim::qwen35

#endif  // VERBATIM_MODEL_QWEN35_ATTENTION_LAYER_H_
