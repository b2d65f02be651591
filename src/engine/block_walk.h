// BlockWalk: runs rows of one sequence through a model and keeps what every op gave, so that blocks
// can be compared with single tokens op by op. Not a comparison of whole runs (probe.h,
// measure/chain_parity.h).
#ifndef VERBATIM_ENGINE_BLOCK_WALK_H_
#define VERBATIM_ENGINE_BLOCK_WALK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/observe/tracing_backend.h"
#include "model/model.h"
#include "state/sequence_state.h"

namespace verbatim {

// One pass through the model: every call of an op with a digest of every row, and its route.
struct TracedPass {
  std::vector<TracedCall> calls;
  std::vector<ops::DispatchRecord> routes;
};

// Where a row of a block first differs from the same token alone.
struct OpDifference {
  ops::Op op = ops::Op::kEmbed;
  int layer = -1;            // or -1: outside of the layers
  std::string weights = {};  // the tensor of a linear; else empty
  int row = 0;               // of the block; -1: its state
  bool route = false;        // the bytes agree, but not the kernel, order or split that made them

  std::string Describe() const;  // "linear layers.3.mlp.up_proj, layer 3, row 8"
};

class BlockWalk {
 public:
  // `backend` is the model's. With logits, every pass ends with the logits of all rows and the
  // largest of each.
  BlockWalk(TracingBackend& backend, Model& model, const Caches& caches, bool with_logits);

  // A new, empty sequence. kResourceExhausted: the caches have no room for `num_tokens`.
  Expected<SequenceState> Start(int64_t num_tokens);
  void Release(SequenceState& state);

  // Runs `tokens` as one block whose first `num_certain` rows are certain, and commits those and
  // `num_accepted` more.
  TracedPass Run(SequenceState& state, std::span<const int32_t> tokens, int num_certain,
                 int num_accepted);
  // The logits [rows, V] of the last pass, device memory; only with logits.
  const float* logits() const { return logits_; }
  // The states of the recurrent layers that the last pass ran, folded: afterwards no draft is
  // pending.
  std::vector<float> ReadRecurrent(SequenceState& state);

 private:
  TracingBackend& backend_;
  Model& model_;
  Caches caches_;
  bool with_logits_;
  const float* logits_ = nullptr;
  int num_recurrent_ = 0;  // layers of the last pass
  ops::DispatchLog log_;
};

// Compares row `row` of a block with a pass of one row. The first difference in the order of ops:
// bytes before routes, so that a route is named only where all bytes agree.
std::optional<OpDifference> FirstDifference(const TracedPass& block, int row,
                                            const TracedPass& single);

// How many bytes of two equally long runs of values differ, all NaNs one value.
int64_t DifferingBytes(std::span<const float> a, std::span<const float> b);

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_BLOCK_WALK_H_
