// The choice of model family. So far there is one.
#include "model/load_model.h"

#include "model/qwen35/target.h"

namespace verbatim {

Expected<std::unique_ptr<Model>> LoadModel(const Checkpoint& checkpoint, ops::Backend& backend,
                                           const ModelOptions& options) {
  return qwen35::Target::Load(checkpoint, backend, options);
}

}  // namespace verbatim
