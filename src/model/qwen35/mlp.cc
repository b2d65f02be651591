// The order of ops of the gated MLP.
#include "model/qwen35/mlp.h"

namespace verbatim::qwen35 {

Expected<Mlp> Mlp::Load(const ModelWeights& weights, const std::string& prefix,
                        const Qwen35Config& config, ops::Backend& backend) {
  const int64_t hidden = config.hidden_size;
  const int64_t inner = config.intermediate_size;
  Mlp mlp;
  VERBATIM_ASSIGN_OR_RETURN(mlp.gate_proj_,
                            PrepareMatrix(weights, prefix + ".gate_proj", inner, hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(mlp.up_proj_,
                            PrepareMatrix(weights, prefix + ".up_proj", inner, hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(mlp.down_proj_,
                            PrepareMatrix(weights, prefix + ".down_proj", hidden, inner, backend));
  return mlp;
}

void Mlp::Forward(ops::Backend& backend, const Qwen35Config& config, int num_rows,
                  const Activations& activations) const {
  const int64_t inner = config.intermediate_size;
  const ops::LinearTask projections[] = {
      {.weights = gate_proj_.get(), .out = activations.gate.data(), .out_stride = inner},
      {.weights = up_proj_.get(), .out = activations.up.data(), .out_stride = inner},
  };
  backend.Linear({.x = activations.normed.data(),
                  .x_stride = config.hidden_size,
                  .num_rows = num_rows,
                  .tasks = projections});
  backend.SiluMul({.gate = activations.gate.data(),
                   .up = activations.up.data(),
                   .num_rows = num_rows,
                   .width = inner,
                   .out = activations.gate.data()});
  const ops::LinearTask output[] = {{.weights = down_proj_.get(),
                                     .out = activations.residual.data(),
                                     .out_stride = config.hidden_size,
                                     .residual = activations.residual.data()}};
  backend.Linear(
      {.x = activations.gate.data(), .x_stride = inner, .num_rows = num_rows, .tasks = output});
}

void Mlp::AppendLinears(LinearList& out) const {
  out.insert(out.end(), {gate_proj_.get(), up_proj_.get(), down_proj_.get()});
}

}  // namespace verbatim::qwen35
