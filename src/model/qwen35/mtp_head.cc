// The order of ops of one MTP row: norm both inputs, join, one attention layer, norm, shared head.
#include "model/qwen35/mtp_head.h"

#include "model/qwen35/target.h"

namespace verbatim::qwen35 {

Expected<std::unique_ptr<MtpHead>> MtpHead::Load(const ModelWeights& weights,
                                                 const SharedParts& shared, int max_rows,
                                                 int max_logit_rows) {
  ops::Backend& backend = *shared.backend;
  const Qwen35Config& config = *shared.config;
  const int64_t hidden = config.hidden_size;
  std::unique_ptr<MtpHead> head(new MtpHead(shared));
  VERBATIM_ASSIGN_OR_RETURN(head->embedding_norm_,
                            UploadVector(weights, "mtp.pre_fc_norm_embedding", hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(head->hidden_norm_,
                            UploadVector(weights, "mtp.pre_fc_norm_hidden", hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(head->fc_,
                            PrepareMatrix(weights, "mtp.fc", hidden, 2 * hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(head->input_norm_,
                            UploadVector(weights, "mtp.layers.0.input_layernorm", hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(
      head->attention_, AttentionLayer::Load(weights, "mtp.layers.0.self_attn", config, backend));
  VERBATIM_ASSIGN_OR_RETURN(
      head->mlp_norm_,
      UploadVector(weights, "mtp.layers.0.post_attention_layernorm", hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(head->mlp_, Mlp::Load(weights, "mtp.layers.0.mlp", config, backend));
  VERBATIM_ASSIGN_OR_RETURN(head->final_norm_, UploadVector(weights, "mtp.norm", hidden, backend));
  VERBATIM_ASSIGN_OR_RETURN(head->fc_input_, DeviceVector::Zeros(backend, 2 * hidden * max_rows));
  VERBATIM_ASSIGN_OR_RETURN(head->hidden_, DeviceVector::Zeros(backend, hidden * max_rows));
  VERBATIM_ASSIGN_OR_RETURN(head->logit_input_,
                            DeviceVector::Zeros(backend, hidden * max_logit_rows));
  VERBATIM_ASSIGN_OR_RETURN(head->logits_,
                            DeviceVector::Zeros(backend, config.vocab_size * max_logit_rows));
  return head;
}

void MtpHead::Forward(std::span<const int32_t> tokens, const float* previous_hidden,
                      const ops::StepView& step, const Caches& caches) {
  ops::Backend& backend = *shared_.backend;
  const Qwen35Config& config = *shared_.config;
  const Activations& activations = *shared_.activations;
  const int64_t hidden = config.hidden_size;
  const float eps = static_cast<float>(config.rms_norm_eps);
  const int num_rows = step.num_rows;
  const auto norm = [&](const float* x, const DeviceVector& weight, float* out,
                        int64_t out_stride) {
    backend.RmsNorm({.x = x,
                     .x_stride = hidden,
                     .weight = weight.data(),
                     .eps = eps,
                     .num_rows = num_rows,
                     .width = hidden,
                     .out = out,
                     .out_stride = out_stride});
  };

  float* residual = activations.residual.data();
  float* normed = activations.normed.data();
  backend.Embed({.table = shared_.embedding, .ids = tokens, .out = normed, .out_stride = hidden});
  norm(normed, embedding_norm_, fc_input_.data(), 2 * hidden);
  norm(previous_hidden, hidden_norm_, fc_input_.data() + hidden, 2 * hidden);
  const ops::LinearTask join[] = {{.weights = fc_.get(), .out = residual, .out_stride = hidden}};
  backend.Linear(
      {.x = fc_input_.data(), .x_stride = 2 * hidden, .num_rows = num_rows, .tasks = join});

  norm(residual, input_norm_, normed, hidden);
  attention_.Forward(backend, config, step, caches.kv->View(shared_.kv_layer), *shared_.rotary,
                     activations);
  norm(residual, mlp_norm_, normed, hidden);
  mlp_.Forward(backend, config, num_rows, activations);
  norm(residual, final_norm_, hidden_.data(), hidden);
}

const float* MtpHead::Logits(std::span<const int32_t> rows) {
  return HeadLogits(*shared_.backend, *shared_.lm_head, hidden_, rows, logit_input_, logits_);
}

}  // namespace verbatim::qwen35
