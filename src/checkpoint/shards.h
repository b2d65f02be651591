// OpenShards: the safetensors files that make up a model folder. Not what their tensors mean.
#ifndef VERBATIM_CHECKPOINT_SHARDS_H_
#define VERBATIM_CHECKPOINT_SHARDS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "verbatim/status.h"

namespace verbatim {

inline constexpr const char* kSingleFileName = "model.safetensors";
inline constexpr const char* kIndexFileName = "model.safetensors.index.json";

struct ShardSet {
  std::vector<std::shared_ptr<const SafetensorsFile>> files;  // by name
  std::vector<std::string> file_names;                        // of `files`, without the folder
};

// The shards that model.safetensors.index.json names, else the single model.safetensors. A stale
// index is an error, not a reason to guess (docs/decisions/0005-checkpoint-layout.md). Errors:
// kNotFound (no weights; a shard that the index names), kCorrupt (a shard name that leaves the
// folder, a tensor that is in no shard, in another shard than the index says, or in two).
Expected<ShardSet> OpenShards(const std::filesystem::path& folder);

// The folder's other .safetensors files, sorted: candidates for separate MTP weights.
std::vector<std::string> OtherSafetensors(const std::filesystem::path& folder,
                                          const ShardSet& shards);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_SHARDS_H_
