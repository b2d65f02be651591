// ReadModelIdentity: digests of what decides a model's output: tensors, config, tokenizer. For
// receipts and caches. Not a loader, and not a check of the weights.
#ifndef VERBATIM_CHECKPOINT_MODEL_IDENTITY_H_
#define VERBATIM_CHECKPOINT_MODEL_IDENTITY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/qwen35_config.h"
#include "checkpoint/safetensors.h"
#include "verbatim/status.h"

namespace verbatim {

struct ModelIdentity {
  // SHA-256 of the manifest (TensorManifest) of every tensor that the target reads. Names are
  // canonical, so files' prefixes and shards make no difference. The MTP head and the vision tower
  // are left out: they do not decide the output.
  std::string model_sha256;
  int64_t num_tensors = 0;
  int64_t num_bytes = 0;
  std::string config_sha256;     // of ConfigSettings
  std::string tokenizer_sha256;  // of tokenizer.json, byte for byte

  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;
};

struct NamedTensor {
  std::string name;  // canonical, e.g. "layers.0.mlp.up_proj.scales"
  const TensorInfo* info = nullptr;
};

// One line for each tensor, by the bytes of its name: "<name> <dtype> <shape> <SHA-256 of its
// bytes>\n", e.g. "norm.weight BF16 [64] 9f86...". The digests are computed by `num_threads`
// threads; `progress` gets the share of the bytes done and may be empty.
std::string TensorManifest(std::vector<NamedTensor> tensors, int num_threads,
                           const std::function<void(double fraction)>& progress = {});

// "key value\n" for each setting of the config that decides the arithmetic, in the order of
// Qwen35Config; numbers with fraction in the shortest decimal that reads back as the same binary64.
std::string ConfigSettings(const Qwen35Config& config);

// Opens the files of `model` (a folder or model id) afresh and reads every byte of the target's
// tensors: 1 to 2 GB/s a thread where the processor has SHA instructions. `num_threads` at least 1.
// Errors: those of finding and opening them; kNotFound for a tensor that the config calls for.
Expected<ModelIdentity> ReadModelIdentity(
    const std::string& model, int num_threads,
    const std::function<void(double fraction)>& progress = {});

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_MODEL_IDENTITY_H_
