// ReadMtp: finds MTP weights and reads them. Not the text model's weights.
#ifndef VERBATIM_CHECKPOINT_MTP_SOURCE_H_
#define VERBATIM_CHECKPOINT_MTP_SOURCE_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/quantization_config.h"
#include "checkpoint/qwen35_config.h"
#include "checkpoint/shards.h"
#include "checkpoint/tensor_table.h"
#include "verbatim/status.h"

namespace verbatim {

struct MtpRequest {
  std::filesystem::path folder;          // the model
  const ShardSet* shards = nullptr;      // its files
  const TensorTable* table = nullptr;    // their tensors
  const Qwen35Config* config = nullptr;  // its config
  std::string config_where;
  const QuantizationConfig* quantization = nullptr;  // its block
  std::filesystem::path draft_folder;                // a drafter; empty: look in the model
  bool wanted = false;
};

struct MtpResult {
  bool found = false;
  std::string source;                                         // as Checkpoint::mtp_source
  std::vector<std::shared_ptr<const SafetensorsFile>> files;  // opened here; keep them mapped
};

// Adds mtp.* to `weights`. Looks, in this order, in the drafter folder if one is given, else in the
// model's shards, else in the folder's other .safetensors files. Absent weights are an error only
// if `wanted`; weights that are there but damaged or incomplete always are.
Expected<MtpResult> ReadMtp(const MtpRequest& request, ModelWeights* weights);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_MTP_SOURCE_H_
