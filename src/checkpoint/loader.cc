// From a folder or id to checked weights: config, shards, layout, text tensors, MTP.
#include "checkpoint/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "base/float_environment.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/json.h"
#include "checkpoint/mtp_source.h"
#include "checkpoint/quantization_config.h"
#include "checkpoint/qwen35_inventory.h"
#include "checkpoint/shards.h"
#include "checkpoint/tensor_table.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

using Files = std::vector<std::shared_ptr<const SafetensorsFile>>;

// Raw or converted, by the last dimension of every conv1d and by nothing else (qwen3_5.md 6.2).
Expected<bool> IsRawLayout(const TensorTable& table, const std::string& folder) {
  const SourceTensor* first = nullptr;
  bool raw = false;
  for (const auto& [name, tensor] : table.tensors()) {
    if (!name.ends_with(".linear_attn.conv1d.weight")) continue;
    const std::vector<int64_t>& shape = tensor.info->shape;
    if (shape.size() != 3) {
      return MakeError(StatusCode::kCorrupt, tensor.Where(), "shape [C, 1, 4] or [C, 4, 1]",
                       ShapeName(shape));
    }
    const bool this_raw = shape.back() != 1;
    if (first == nullptr) {
      first = &tensor;
      raw = this_raw;
    } else if (raw != this_raw) {
      return MakeError(
          StatusCode::kCorrupt, tensor.Where(),
          fmt::format("the layout of {}, {}", first->info->name, ShapeName(first->info->shape)),
          ShapeName(shape), "a checkpoint of one conversion");
    }
  }
  if (first == nullptr) {
    return MakeError(StatusCode::kNotFound, folder, "tensors layers.N.linear_attn.conv1d.weight",
                     "none", "a complete Qwen3.5 checkpoint");
  }
  return raw;
}

// A layer beyond the config's count means that the two do not belong together.
Status CheckLayerCount(const TensorTable& table, const Qwen35Config& config,
                       const std::string& config_where) {
  for (const auto& [name, tensor] : table.tensors()) {
    constexpr std::string_view kPrefix = "layers.";
    if (!name.starts_with(kPrefix)) continue;
    int64_t layer = -1;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
    if (layer >= config.num_hidden_layers) {
      return MakeError(StatusCode::kCorrupt, tensor.Where(),
                       fmt::format("layers below {} as {} says (num_hidden_layers)",
                                   config.num_hidden_layers, config_where),
                       fmt::format("layer {}", layer), "the config.json of this very checkpoint");
    }
  }
  return {};
}

std::vector<std::string> UnexpectedTensors(const TensorTable& table, const ModelWeights& weights,
                                           bool tied) {
  std::vector<std::string> unexpected = table.unknown();
  for (const auto& [name, tensor] : table.tensors()) {
    std::string_view path = name;
    for (const std::string_view suffix : {".weight", ".scales", ".biases"}) {
      if (path.ends_with(suffix)) path.remove_suffix(suffix.size());
    }
    if (tied && path == "lm_head") continue;  // stale: dropped (1.1)
    if (path.starts_with("mtp.") || weights.Contains(path)) continue;
    unexpected.push_back(tensor.info->name);
  }
  std::ranges::sort(unexpected);
  return unexpected;
}

std::string SummarizeTypes(const ModelWeights& weights) {
  std::map<std::string, int> counts;
  for (const auto& [name, matrix] : weights.matrices) ++counts[FormatName(matrix.format)];
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  // The most frequent first; equal counts by name.
  std::ranges::sort(sorted, {},
                    [](const auto& item) { return std::pair(-item.second, item.first); });
  std::string summary;
  for (const auto& [format, count] : sorted) {
    summary += fmt::format("{}{} ({} tensor{})", summary.empty() ? "" : ", ", format, count,
                           count == 1 ? "" : "s");
  }
  return summary;
}

Expected<Checkpoint> Load(const LoadOptions& options) {
  const auto progress = [&](double fraction, const std::string& what) {
    if (options.progress) options.progress(fraction, what);
  };
  Checkpoint checkpoint;
  progress(0.0, "config.json");
  VERBATIM_ASSIGN_OR_RETURN(checkpoint.folder, ResolveModel(options.model, ProcessEnvironment()));
  const fs::path config_path = checkpoint.folder / "config.json";
  const std::string config_where = config_path.string();
  VERBATIM_ASSIGN_OR_RETURN(const nlohmann::json config_json, ReadJsonObject(config_path));
  const fs::path generation_path = checkpoint.folder / "generation_config.json";
  std::optional<nlohmann::json> generation_json;
  std::error_code error;
  if (fs::exists(generation_path, error)) {
    VERBATIM_ASSIGN_OR_RETURN(generation_json, ReadJsonObject(generation_path));
    VERBATIM_ASSIGN_OR_RETURN(checkpoint.generation_defaults,
                              ParseGenerationDefaults(*generation_json, generation_path.string()));
  }
  VERBATIM_ASSIGN_OR_RETURN(
      checkpoint.config,
      ParseQwen35Config(config_json, generation_json ? &*generation_json : nullptr, config_where));
  VERBATIM_ASSIGN_OR_RETURN(const QuantizationConfig quantization,
                            ParseQuantizationConfig(config_json, config_where));

  VERBATIM_ASSIGN_OR_RETURN(const ShardSet shards, OpenShards(checkpoint.folder));
  TensorTable table;
  for (const auto& file : shards.files) VERBATIM_RETURN_IF_ERROR(table.Add(*file));
  VERBATIM_ASSIGN_OR_RETURN(const bool raw, IsRawLayout(table, checkpoint.folder.string()));
  VERBATIM_RETURN_IF_ERROR(CheckLayerCount(table, checkpoint.config, config_where));
  checkpoint.layout = raw ? "huggingface" : "mlx";

  ReadContext context;
  context.place = checkpoint.folder.string();
  context.config_where = config_where;
  context.quantization = &quantization;
  context.quantization_where = config_where;
  context.raw_layout = raw;
  const std::vector<ExpectedTensor> inventory = TextInventory(checkpoint.config);
  for (size_t i = 0; i < inventory.size(); ++i) {
    progress(static_cast<double>(i) / static_cast<double>(inventory.size()), inventory[i].path);
    VERBATIM_RETURN_IF_ERROR(ReadExpected(table, inventory[i], context, &checkpoint.weights));
  }

  MtpRequest request;
  request.folder = checkpoint.folder;
  request.shards = &shards;
  request.table = &table;
  request.config = &checkpoint.config;
  request.config_where = config_where;
  request.quantization = &quantization;
  request.wanted = options.want_mtp || !options.draft_model.empty();
  if (!options.draft_model.empty()) {
    VERBATIM_ASSIGN_OR_RETURN(request.draft_folder,
                              ResolveModel(options.draft_model, ProcessEnvironment()));
  }
  VERBATIM_ASSIGN_OR_RETURN(MtpResult mtp, ReadMtp(request, &checkpoint.weights));
  checkpoint.has_mtp = mtp.found;
  checkpoint.mtp_source = std::move(mtp.source);

  checkpoint.weight_types = SummarizeTypes(checkpoint.weights);
  checkpoint.unexpected_tensors =
      UnexpectedTensors(table, checkpoint.weights, checkpoint.config.tie_word_embeddings);
  checkpoint.num_vision_tensors = table.num_vision_tensors();
  auto mappings = std::make_shared<Files>(shards.files);
  mappings->insert(mappings->end(), mtp.files.begin(), mtp.files.end());
  checkpoint.mappings = std::move(mappings);
  progress(1.0, "done");
  return checkpoint;
}

}  // namespace

Expected<Checkpoint> LoadCheckpoint(const LoadOptions& options) {
  const FloatEnvironment environment;  // 1 + w is the arithmetic of numerics.md 0
  try {
    return Load(options);
  } catch (const std::bad_alloc&) {
    return MakeError(StatusCode::kResourceExhausted, options.model, "memory for the checkpoint",
                     "too little");
  }
}

}  // namespace verbatim
