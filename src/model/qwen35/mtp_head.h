// MtpHead: the multi-token-prediction head of Qwen3.5 (qwen3_5.md 5.3). Not the policy of drafting
// (draft/).
#ifndef VERBATIM_MODEL_QWEN35_MTP_HEAD_H_
#define VERBATIM_MODEL_QWEN35_MTP_HEAD_H_

#include "model/model.h"
#include "model/qwen35/attention_layer.h"
#include "model/qwen35/mlp.h"

namespace verbatim::qwen35 {

// What the head borrows from its target.
struct SharedParts {
  ops::Backend* backend = nullptr;
  const Qwen35Config* config = nullptr;
  const ops::PreparedLinear* embedding = nullptr;
  const ops::PreparedLinear* lm_head = nullptr;
  const RotaryDevice* rotary = nullptr;
  const Activations* activations = nullptr;  // free between the target's steps
  int kv_layer = 0;                          // the head's layer in the KV cache
};

class MtpHead : public DraftHead {
 public:
  static Expected<std::unique_ptr<MtpHead>> Load(const ModelWeights& weights,
                                                 const SharedParts& shared, int max_rows,
                                                 int max_logit_rows);

  void Forward(std::span<const int32_t> tokens, const float* previous_hidden,
               const ops::StepView& step, const Caches& caches) override;
  const float* hidden() const override { return hidden_.data(); }
  const float* Logits(std::span<const int32_t> rows) override;

 private:
  explicit MtpHead(const SharedParts& shared) : shared_(shared) {}

  SharedParts shared_;
  DeviceVector embedding_norm_;              // [H], pre_fc_norm_embedding
  DeviceVector hidden_norm_;                 // [H], pre_fc_norm_hidden
  std::unique_ptr<ops::PreparedLinear> fc_;  // [H, 2H], embedding half first
  DeviceVector input_norm_;                  // [H]
  AttentionLayer attention_;
  DeviceVector mlp_norm_;  // [H]
  Mlp mlp_;
  DeviceVector final_norm_;   // [H]
  DeviceVector fc_input_;     // [M, 2H]
  DeviceVector hidden_;       // [M, H]
  DeviceVector logit_input_;  // [max_logit_rows, H]
  DeviceVector logits_;       // [max_logit_rows, V]
};

}  // namespace verbatim::qwen35

#endif  // VERBATIM_MODEL_QWEN35_MTP_HEAD_H_
