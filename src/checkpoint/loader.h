// LoadCheckpoint: the one way from a folder or model id to checked weights. Reads only; never
// downloads.
#ifndef VERBATIM_CHECKPOINT_LOADER_H_
#define VERBATIM_CHECKPOINT_LOADER_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/generation_config.h"
#include "checkpoint/qwen35_config.h"
#include "checkpoint/weights.h"
#include "verbatim/status.h"

namespace verbatim {

struct LoadOptions {
  std::string model =
      {};  // a folder, or a model id "org/name[@revision]" in the Hugging Face cache
  std::string draft_model = {};  // a folder or id with MTP weights (qwen3_5_mtp); empty: look in
                                 // the model itself
  bool want_mtp = false;         // absent MTP weights are then an error that says where was looked
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
};

struct Checkpoint {
  std::filesystem::path folder;
  Qwen35Config config;
  GenerationDefaults generation_defaults;
  ModelWeights weights;
  bool has_mtp = false;
  std::string mtp_source;    // "model.safetensors", "mtp.safetensors", "drafter folder /x", or why
                             // there is none
  std::string layout;        // "huggingface" or "mlx"
  std::string weight_types;  // "affine 4-bit g64 (97 tensors), bf16 (12), ..." for people
  std::vector<std::string> unexpected_tensors;  // names in the files that the model has no use for
  int num_vision_tensors = 0;                   // skipped
  std::shared_ptr<void> mappings;               // keeps the files mapped that `weights` views
};

// The weight files are mapped, not read: they must not change during the load, nor as long as the
// checkpoint lives (a file that another program truncates ends the process with SIGBUS). Errors:
// one clear Status per fault, naming the file and the tensor or field.
Expected<Checkpoint> LoadCheckpoint(const LoadOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_LOADER_H_
