// ModelHarness: a model with caches and without an engine, so that a test can run any rows and read
// any state.
#ifndef VERBATIM_TESTS_SUPPORT_MODEL_HARNESS_H_
#define VERBATIM_TESTS_SUPPORT_MODEL_HARNESS_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/create_backend.h"
#include "model/load_model.h"
#include "state/sequence_state.h"

namespace verbatim::testing {

struct HarnessOptions {
  std::string target = {};
  int num_threads = 1;
  int64_t context = 1024;
  int max_sequences = 2;
  int max_rows = 256;
  ops::KvType kv_type = ops::KvType::kBF16;
  bool with_mtp = false;
  BackendWrapper wrap = {};  // empty: the backend as it is
};

class ModelHarness {
 public:
  using Logits = std::vector<std::vector<float>>;  // [rows][V]

  // Aborts the process with the error if the model does not load.
  ModelHarness(const std::filesystem::path& folder, const HarnessOptions& options);

  SequenceState NewSequence(int64_t num_tokens);
  void Release(SequenceState& state);

  // Runs `tokens` as one block whose first `num_certain` rows are certain, and commits those and
  // `num_accepted_drafts` more. Returns the logits of every row.
  Logits Run(SequenceState& state, std::span<const int32_t> tokens, int num_certain,
             int num_accepted_drafts);
  // All rows certain.
  Logits Run(SequenceState& state, std::span<const int32_t> tokens) {
    return Run(state, tokens, static_cast<int>(tokens.size()), 0);
  }

  // Keys and values of the consumed slots, logical order, every layer of the target.
  std::vector<std::byte> ReadKv(const SequenceState& state, int num_layers, int64_t first_slot,
                                int64_t end_slot);
  // The folded recurrent state of every layer. Folds, so that no draft is pending afterwards.
  std::vector<float> ReadRecurrent(SequenceState& state);

  Checkpoint checkpoint;
  std::unique_ptr<ops::Backend> backend;
  std::unique_ptr<Model> model;
  std::unique_ptr<KvCache> kv;
  std::unique_ptr<RecurrentCache> recurrent;
  Caches caches;
};

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_SUPPORT_MODEL_HARNESS_H_
