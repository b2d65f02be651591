// Model and DraftHead: what the engine knows of a model family. Not which family, layers or backend
// it is. Thread rule: one caller at a time.
#ifndef VERBATIM_MODEL_MODEL_H_
#define VERBATIM_MODEL_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "model/device_vector.h"
#include "ops/backend.h"
#include "ops/step.h"
#include "state/kv_cache.h"
#include "state/recurrent_cache.h"

namespace verbatim {

// The caches of all sequences. The draft head's attention layers follow the target's in `kv`.
struct Caches {
  KvCache* kv = nullptr;
  RecurrentCache* recurrent = nullptr;  // null when the family has no recurrent layers
};

struct ModelShape {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int num_kv_layers = 0;  // attention layers of the target and, behind them, of the draft head
  ops::KvLayout kv;
  int num_recurrent_layers = 0;
  ops::RecurrentLayout recurrent;
};

// The draft head: row i takes token i + 1 and the target's hidden i, and predicts token i + 2.
class DraftHead {
 public:
  virtual ~DraftHead() = default;
  // `previous_hidden` [M, H]: the target's hidden rows, or the head's own for a recursive draft.
  // Device memory, not inside hidden(). The step's slots and positions are the head's: slot i + 1,
  // position i for row i.
  virtual void Forward(std::span<const int32_t> tokens, const float* previous_hidden,
                       const ops::StepView& step, const Caches& caches) = 0;
  virtual const float* hidden() const = 0;  // [M, H] of the last Forward; device memory
  // Logits of chosen rows of the last Forward, [rows, V] f32, valid until the next call. Device
  // memory.
  virtual const float* Logits(std::span<const int32_t> rows) = 0;
};

class Model {
 public:
  // Sees the residual stream [M, H] (device memory) after each layer; for tests and diagnosis.
  using LayerObserver = std::function<void(int layer, const float* residual, int num_rows)>;

  virtual ~Model() = default;
  virtual const ModelShape& shape() const = 0;

  // Runs all layers over the rows of a step, writing KV and recurrent state. Prefill, classic
  // decode and verification are this one call. tokens [M], host memory.
  virtual void Forward(std::span<const int32_t> tokens, const ops::StepView& step,
                       const Caches& caches) = 0;
  virtual const float* hidden()
      const = 0;  // [M, H] after the final norm, of the last Forward; device
  // Logits of chosen rows of the last Forward, [rows, V] f32, valid until the next call. Device
  // memory. At most the max_logit_rows that the model was loaded with.
  virtual const float* Logits(std::span<const int32_t> rows) = 0;

  virtual DraftHead* draft_head() = 0;  // null when the checkpoint brought none
  // The target's matrices, as one decode step reads them.
  virtual LinearList linears() const = 0;
  int64_t weight_bytes() const {  // read by one decode step of the target
    int64_t bytes = 0;
    for (const ops::PreparedLinear* linear : linears()) bytes += linear->bytes();
    return bytes;
  }
  virtual void set_layer_observer(LayerObserver observer) = 0;
  // Forward runs the first layers alone, at least 1 and at most all of them; for probes of large
  // models.
  virtual void set_num_layers(int num_layers) = 0;
  virtual int num_layers() const = 0;  // that the model has
};

}  // namespace verbatim

#endif  // VERBATIM_MODEL_MODEL_H_
