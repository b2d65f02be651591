// RecurrentCache: the gated-delta states of every linear-attention layer and who owns them.
// Not their inner layout (ops/recurrent_layout.h). Thread rule: one caller at a time.
#ifndef VERBATIM_STATE_RECURRENT_CACHE_H_
#define VERBATIM_STATE_RECURRENT_CACHE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/backend.h"

namespace verbatim {

// A slot names one sequence's state in every layer at once.
class RecurrentCache {
 public:
  // Errors: kResourceExhausted.
  static Expected<std::unique_ptr<RecurrentCache>> Create(ops::Backend& backend, int num_layers,
                                                          const ops::RecurrentLayout& layout,
                                                          int num_slots);

  // A slot with zeroed state in every layer. kResourceExhausted: none is free.
  Expected<int> Acquire();
  void Release(int slot);

  void Clear(int slot);  // as after Acquire
  // Copies the committed state of every layer. No draft of `from` may be pending.
  void Copy(int from, int to);

  // Folds the accepted draft records of a slot in every layer; then none are pending.
  void Fold(int slot, int num_accepted_drafts);

  // The committed state of one layer in logical order: S [Hv][Dk][Dv], then the convolution rows
  // [3][conv_dim]. No draft may be pending (call Fold first).
  std::vector<float> Read(int layer, int slot) const;

  ops::RecurrentView View(int layer) const;
  int num_layers() const { return static_cast<int>(layers_.size()); }
  int64_t bytes() const;
  int64_t slot_bytes() const;  // of one slot in every layer

 private:
  explicit RecurrentCache(ops::Backend& backend) : backend_(backend) {}

  ops::Backend& backend_;
  ops::RecurrentLayout layout_;
  std::vector<std::unique_ptr<ops::DeviceBuffer>> layers_;
  std::vector<int> free_slots_;
  std::vector<float> zeros_;  // one slot's worth
};

}  // namespace verbatim

#endif  // VERBATIM_STATE_RECURRENT_CACHE_H_
