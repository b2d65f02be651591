// LoadModel: from checked weights to a model on a backend. The one place that chooses the family.
#ifndef VERBATIM_MODEL_LOAD_MODEL_H_
#define VERBATIM_MODEL_LOAD_MODEL_H_

#include <functional>
#include <memory>
#include <string>

#include "checkpoint/loader.h"
#include "model/model.h"

namespace verbatim {

struct ModelOptions {
  int64_t num_positions = 0;  // that the rope tables cover
  int max_rows = 0;           // largest step
  int max_logit_rows = 0;     // most rows of one Logits call
  int max_drafts = 0;         // most draft rows of one sequence in a step
  ops::KvType kv_type = ops::KvType::kBF16;
  bool with_draft_head = false;
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
};

// The backend outlives the model; the checkpoint need not. Errors: those of PrepareLinear and
// Allocate.
Expected<std::unique_ptr<Model>> LoadModel(const Checkpoint& checkpoint, ops::Backend& backend,
                                           const ModelOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MODEL_LOAD_MODEL_H_
