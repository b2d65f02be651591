// Target: the decoder of the dense Qwen3.5 hybrids as a Model (qwen3_5.md 2 to 4). Only calls ops.
#ifndef VERBATIM_MODEL_QWEN35_TARGET_H_
#define VERBATIM_MODEL_QWEN35_TARGET_H_

#include <variant>
#include <vector>

#include "model/load_model.h"
#include "model/qwen35/attention_layer.h"
#include "model/qwen35/gated_delta_layer.h"
#include "model/qwen35/mlp.h"
#include "model/qwen35/mtp_head.h"

namespace verbatim::qwen35 {

class Target : public Model {
 public:
  static Expected<std::unique_ptr<Model>> Load(const Checkpoint& checkpoint, ops::Backend& backend,
                                               const ModelOptions& options);

  const ModelShape& shape() const override { return shape_; }
  void Forward(std::span<const int32_t> tokens, const ops::StepView& step,
               const Caches& caches) override;
  const float* hidden() const override { return hidden_.data(); }
  const float* Logits(std::span<const int32_t> rows) override;
  DraftHead* draft_head() override { return mtp_.get(); }
  LinearList linears() const override;
  void set_layer_observer(LayerObserver observer) override { observer_ = std::move(observer); }
  void set_num_layers(int num_layers) override;
  int num_layers() const override { return static_cast<int>(layers_.size()); }

 private:
  struct Layer {
    DeviceVector input_norm;  // [H]
    std::variant<AttentionLayer, GatedDeltaLayer> mixer;
    int cache_layer = 0;    // index among the layers of the mixer's kind
    DeviceVector mlp_norm;  // [H]
    Mlp mlp;
  };

  Target(const Checkpoint& checkpoint, ops::Backend& backend)
      : backend_(backend), config_(checkpoint.config) {}
  Status LoadLayers(const ModelWeights& weights, const ModelOptions& options);
  Status LoadEnds(const ModelWeights& weights, const ModelOptions& options);
  Status ReserveWorkspace(const ModelOptions& options);
  const ops::PreparedLinear& lm_head() const { return lm_head_ ? *lm_head_ : *embedding_; }
  void Norm(const float* x, const DeviceVector& weight, int num_rows, float* out);

  ops::Backend& backend_;
  Qwen35Config config_;
  ModelShape shape_;
  std::unique_ptr<ops::PreparedLinear> embedding_;  // [V, H]
  std::unique_ptr<ops::PreparedLinear> lm_head_;    // [V, H], null when tied
  std::vector<Layer> layers_;
  size_t num_run_layers_ = 0;  // of layers_, by Forward
  DeviceVector final_norm_;    // [H]
  RotaryDevice rotary_;
  Activations activations_;
  DeviceVector hidden_;       // [M, H]
  DeviceVector logit_input_;  // [max_logit_rows, H]
  DeviceVector logits_;       // [max_logit_rows, V]
  std::unique_ptr<MtpHead> mtp_;
  LayerObserver observer_;
};

// Logits [rows, V] of chosen hidden rows [*, H], through `gathered` [rows, H].
const float* HeadLogits(ops::Backend& backend, const ops::PreparedLinear& head,
                        const DeviceVector& hidden, std::span<const int32_t> rows,
                        const DeviceVector& gathered, const DeviceVector& logits);

}  // namespace verbatim::qwen35

#endif  // VERBATIM_MODEL_QWEN35_TARGET_H_
