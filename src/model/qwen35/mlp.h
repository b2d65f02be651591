// Mlp: the dense SwiGLU of Qwen3.5 (qwen3_5.md 4). Not the mixture of experts.
#ifndef VERBATIM_MODEL_QWEN35_MLP_H_
#define VERBATIM_MODEL_QWEN35_MLP_H_

#include <memory>
#include <string>

#include "model/qwen35/activations.h"

namespace verbatim::qwen35 {

class Mlp {
 public:
  // `prefix` as in "layers.0.mlp".
  static Expected<Mlp> Load(const ModelWeights& weights, const std::string& prefix,
                            const Qwen35Config& config, ops::Backend& backend);

  // residual += down(silu(gate(normed)) * up(normed)).
  void Forward(ops::Backend& backend, const Qwen35Config& config, int num_rows,
               const Activations& activations) const;

  void AppendLinears(LinearList& out) const;

 private:
  std::unique_ptr<ops::PreparedLinear> gate_proj_;  // [I, H]
  std::unique_ptr<ops::PreparedLinear> up_proj_;    // [I, H]
  std::unique_ptr<ops::PreparedLinear> down_proj_;  // [H, I]
};

}  // namespace verbatim::qwen35

#endif  // VERBATIM_MODEL_QWEN35_MLP_H_
