// Digests tensor by tensor: each by one thread, the largest first, so that the last to end is
// short.
#include "checkpoint/model_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/thread_pool.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/json.h"
#include "checkpoint/qwen35_inventory.h"
#include "checkpoint/shards.h"
#include "checkpoint/tensor_table.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// Between two reports of progress: a few milliseconds of work.
constexpr size_t kProgressBytes = size_t{8} << 20;

std::string DigestOf(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.HexDigest();
}

// The tensors that ReadExpected reads.
Expected<std::vector<NamedTensor>> TargetTensors(const TensorTable& table,
                                                 const Qwen35Config& config,
                                                 const fs::path& folder) {
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::string& name) -> Status {
    const SourceTensor* tensor = table.Find(name);
    if (tensor == nullptr) {
      return MakeError(StatusCode::kNotFound, folder.string(), fmt::format("tensor {}", name),
                       "no such tensor", "a complete checkpoint");
    }
    tensors.push_back({.name = name, .info = tensor->info});
    return {};
  };
  for (const ExpectedTensor& expected : TextInventory(config)) {
    VERBATIM_RETURN_IF_ERROR(add(expected.path + expected.file_suffix));
    if (table.Find(expected.path + ".scales") == nullptr) continue;
    VERBATIM_RETURN_IF_ERROR(add(expected.path + ".scales"));
    VERBATIM_RETURN_IF_ERROR(add(expected.path + ".biases"));
  }
  return tensors;
}

Expected<Qwen35Config> ReadConfig(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  VERBATIM_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonObject(path));
  // Without generation_config.json: it adds end-of-sequence ids, which are the request's part.
  return ParseQwen35Config(json, nullptr, path.string());
}

}  // namespace

std::string TensorManifest(std::vector<NamedTensor> tensors, int num_threads,
                           const std::function<void(double fraction)>& progress) {
  std::ranges::sort(tensors, {}, &NamedTensor::name);
  std::vector<size_t> largest_first(tensors.size());
  std::iota(largest_first.begin(), largest_first.end(), size_t{0});
  const auto size_of = [&](size_t i) { return tensors[i].info->data.size(); };
  std::ranges::sort(largest_first, std::ranges::greater(), size_of);
  size_t total = 0;
  for (const size_t i : largest_first) total += size_of(i);

  std::vector<std::string> digests(tensors.size());
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0;
  ThreadPool pool(num_threads);
  // One task a thread, each taking the largest tensor that is left. The caller's thread, which is
  // 0, reports.
  pool.Run(num_threads, [&](int64_t, int thread) {
    for (size_t turn = next.fetch_add(1); turn < largest_first.size(); turn = next.fetch_add(1)) {
      const size_t i = largest_first[turn];
      std::span<const std::byte> data = tensors[i].info->data;
      Sha256 sha;
      while (!data.empty()) {
        const auto part = data.first(std::min(data.size(), kProgressBytes));
        sha.Update(part);
        data = data.subspan(part.size());
        const size_t sum = done.fetch_add(part.size()) + part.size();
        if (thread == 0 && progress) {
          progress(static_cast<double>(sum) / static_cast<double>(total));
        }
      }
      digests[i] = sha.HexDigest();
    }
  });

  std::string manifest;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& info = *tensors[i].info;
    manifest += fmt::format("{} {} {} {}\n", tensors[i].name, info.dtype, ShapeName(info.shape),
                            digests[i]);
  }
  return manifest;
}

std::string ConfigSettings(const Qwen35Config& config) {
  std::string text;
  const auto add = [&](std::string_view key, const auto& value) {
    text += fmt::format("{} {}\n", key, value);
  };
  std::string layers;  // one letter a layer
  for (const Qwen35Config::LayerType type : config.layer_types) {
    layers += type == Qwen35Config::LayerType::kLinearAttention ? 'l' : 'f';
  }
  add("model_type", config.model_type);
  add("hidden_size", config.hidden_size);
  add("intermediate_size", config.intermediate_size);
  add("vocab_size", config.vocab_size);
  add("num_hidden_layers", config.num_hidden_layers);
  add("layer_types", layers);
  add("num_attention_heads", config.num_attention_heads);
  add("num_key_value_heads", config.num_key_value_heads);
  add("head_dim", config.head_dim);
  add("rotary_dim", config.rotary_dim);
  add("rope_theta", config.rope_theta);
  add("linear_num_key_heads", config.linear_num_key_heads);
  add("linear_num_value_heads", config.linear_num_value_heads);
  add("linear_key_head_dim", config.linear_key_head_dim);
  add("linear_value_head_dim", config.linear_value_head_dim);
  add("linear_conv_kernel_dim", config.linear_conv_kernel_dim);
  add("rms_norm_eps", config.rms_norm_eps);
  add("tie_word_embeddings", config.tie_word_embeddings);
  return text;
}

Expected<ModelIdentity> ReadModelIdentity(const std::string& model, int num_threads,
                                          const std::function<void(double fraction)>& progress) {
  VERBATIM_ASSIGN_OR_RETURN(const fs::path folder, ResolveModel(model, ProcessEnvironment()));
  VERBATIM_ASSIGN_OR_RETURN(const Qwen35Config config, ReadConfig(folder));
  VERBATIM_ASSIGN_OR_RETURN(const ShardSet shards, OpenShards(folder));
  TensorTable table;
  for (const auto& file : shards.files) VERBATIM_RETURN_IF_ERROR(table.Add(*file));
  VERBATIM_ASSIGN_OR_RETURN(std::vector<NamedTensor> tensors, TargetTensors(table, config, folder));
  VERBATIM_ASSIGN_OR_RETURN(const MappedFile tokenizer,
                            MappedFile::Open(folder / "tokenizer.json"));

  ModelIdentity identity;
  identity.num_tensors = static_cast<int64_t>(tensors.size());
  for (const NamedTensor& tensor : tensors) {
    identity.num_bytes += static_cast<int64_t>(tensor.info->data.size());
  }
  const std::string manifest = TensorManifest(std::move(tensors), num_threads, progress);
  identity.model_sha256 = DigestOf(std::as_bytes(std::span(manifest)));
  const std::string settings = ConfigSettings(config);
  identity.config_sha256 = DigestOf(std::as_bytes(std::span(settings)));
  identity.tokenizer_sha256 = DigestOf(tokenizer.bytes());
  return identity;
}

}  // namespace verbatim
