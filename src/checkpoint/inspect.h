// DescribeCheckpoint and EstimateMemory: what a checkpoint is and what it needs, for `inspect`. Not
// a loader, and not the allocator of these buffers.
#ifndef VERBATIM_CHECKPOINT_INSPECT_H_
#define VERBATIM_CHECKPOINT_INSPECT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/loader.h"

namespace verbatim {

struct TensorDescription {
  std::string name;       // canonical
  std::string file_name;  // as in the file
  std::string type;       // as FormatName
  std::vector<int64_t> shape;
  int64_t parameters = 0;
  int64_t bytes = 0;  // in the file
};

struct CheckpointDescription {
  std::vector<TensorDescription> tensors;  // sorted by canonical name
  int64_t text_parameters = 0;             // tied embeddings count once
  int64_t mtp_parameters = 0;
  int64_t weight_bytes = 0;  // in the files, MTP included
};

CheckpointDescription DescribeCheckpoint(const Checkpoint& checkpoint);

// What an engine allocates beside the estimate: it follows from options that `inspect` does not
// have (prefill chunk, threads, drafter), and is small beside weights and caches.
inline constexpr std::string_view kNotCounted = "activations of a step, logits, rope tables";

// Bytes of the weights, and what one sequence of `context` tokens needs beside them.
struct MemoryEstimate {
  int64_t weights = 0;
  int64_t kv_cache = 0;         // whole pages of 256 slots, as many as the engine allocates
                                // (context + 4 slots); attention layers and the MTP layer
  int64_t recurrent_state = 0;  // gated-delta states, convolution rows and replay records
  int64_t total() const { return weights + kv_cache + recurrent_state; }
};

// kv_element_bytes: 2 for bf16 and f16, 4 for f32. max_drafts: rows of replay records.
MemoryEstimate EstimateMemory(const Checkpoint& checkpoint, int64_t context, int kv_element_bytes,
                              int max_drafts);

// Everything above as one JSON object, with config, layout, MTP source and unexpected tensors.
std::string InspectJson(const Checkpoint& checkpoint, int64_t context, int kv_element_bytes,
                        int max_drafts);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_INSPECT_H_
