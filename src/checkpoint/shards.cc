// The index file, checked against the shards.
#include "checkpoint/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "checkpoint/json.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// 100 bytes per entry and 10^6 tensors.
constexpr size_t kMaxIndexBytes = size_t{100} << 20;

bool IsPlainFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

// Tensor -> shard name.
Expected<std::map<std::string, std::string>> ReadWeightMap(const fs::path& path) {
  VERBATIM_ASSIGN_OR_RETURN(const nlohmann::json index, ReadJsonObject(path, kMaxIndexBytes));
  const JsonFields fields(index, path.string());
  VERBATIM_ASSIGN_OR_RETURN(const JsonFields weight_map, fields.Object("weight_map"));
  std::map<std::string, std::string> result;
  for (const auto& [tensor, shard] : fields.Find("weight_map")->items()) {
    if (!shard.is_string() || !IsPlainFileName(shard.get<std::string>())) {
      return MakeError(StatusCode::kCorrupt, weight_map.Where(tensor),
                       "the name of a file in the model's folder", JsonForMessage(shard));
    }
    result[tensor] = shard.get<std::string>();
  }
  if (result.empty()) {
    return MakeError(StatusCode::kCorrupt, fields.Where("weight_map"), "at least one tensor",
                     "none");
  }
  return result;
}

Expected<ShardSet> OpenIndexed(const fs::path& folder, const fs::path& index_path) {
  VERBATIM_ASSIGN_OR_RETURN(const auto weight_map, ReadWeightMap(index_path));
  std::set<std::string> names;
  for (const auto& [tensor, shard] : weight_map) names.insert(shard);

  ShardSet shards;
  std::map<std::string, const std::string*> holder;  // tensor -> the shard that has it
  for (const std::string& name : names) {
    auto file = SafetensorsFile::Open(folder / name);
    if (!file.ok() && file.status().code() == StatusCode::kNotFound) {
      std::error_code error;
      const bool single = fs::exists(folder / kSingleFileName, error);
      return MakeError(
          StatusCode::kNotFound, index_path.string(), fmt::format("shard {} beside it", name),
          "no such file",
          single ? fmt::format("removing the stale {} to load {}", kIndexFileName, kSingleFileName)
                 : "completing the download");
    }
    if (!file.ok()) return file.status();
    for (const auto& [tensor, info] : file->tensors()) {
      const auto [other, inserted] = holder.emplace(tensor, &*names.find(name));
      if (!inserted) {
        return MakeError(StatusCode::kCorrupt, (folder / name).string() + ": " + tensor,
                         "each tensor in one shard", fmt::format("it in {} too", *other->second));
      }
    }
    shards.files.push_back(std::make_shared<SafetensorsFile>(*std::move(file)));
    shards.file_names.push_back(name);
  }
  for (const auto& [tensor, shard] : weight_map) {
    const auto found = holder.find(tensor);
    if (found == holder.end() || *found->second != shard) {
      return MakeError(
          StatusCode::kCorrupt, index_path.string(), fmt::format("tensor {} in {}", tensor, shard),
          found == holder.end() ? "it in no shard" : fmt::format("it in {}", *found->second),
          "an index and shards of one download");
    }
  }
  return shards;
}

}  // namespace

Expected<ShardSet> OpenShards(const fs::path& folder) {
  std::error_code error;
  const fs::path index_path = folder / kIndexFileName;
  if (fs::exists(index_path, error)) return OpenIndexed(folder, index_path);

  const fs::path single = folder / kSingleFileName;
  if (!fs::exists(single, error)) {
    return MakeError(StatusCode::kNotFound, folder.string(),
                     fmt::format("{} or {}", kIndexFileName, kSingleFileName), "neither",
                     "a complete safetensors checkpoint");
  }
  VERBATIM_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(single));
  ShardSet shards;
  shards.files.push_back(std::make_shared<SafetensorsFile>(std::move(file)));
  shards.file_names.push_back(kSingleFileName);
  return shards;
}

std::vector<std::string> OtherSafetensors(const fs::path& folder, const ShardSet& shards) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->path().extension() == ".safetensors" &&
        std::ranges::count(shards.file_names, name) == 0) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace verbatim
