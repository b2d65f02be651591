// The three homes of an MTP head (qwen3_5.md 5.1, 5.2; docs/decisions/0005-checkpoint-layout.md).
#include "checkpoint/mtp_source.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "checkpoint/json.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

Status ReadAll(const TensorTable& table, const MtpRequest& request, const ReadContext& context,
               ModelWeights* weights) {
  for (const ExpectedTensor& expected : MtpInventory(*request.config)) {
    VERBATIM_RETURN_IF_ERROR(ReadExpected(table, expected, context, weights));
  }
  return {};
}

std::string ShardsWithMtp(const MtpRequest& request) {
  std::string names;
  for (size_t i = 0; i < request.shards->files.size(); ++i) {
    TensorTable table;
    if (!table.Add(*request.shards->files[i]).ok() || !table.HasMtp()) continue;
    names += (names.empty() ? "" : ", ") + request.shards->file_names[i];
  }
  return names;
}

// A drafter folder: qwen3_5_mtp (bare names), or a whole checkpoint of the family with mtp.*.
Expected<MtpResult> ReadDrafter(const MtpRequest& request, ModelWeights* weights) {
  const fs::path config_path = request.draft_folder / "config.json";
  VERBATIM_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonObject(config_path));
  const JsonFields fields(json, config_path.string());
  VERBATIM_ASSIGN_OR_RETURN(const std::string type, fields.String("model_type"));
  if (type != "qwen3_5_mtp" && type != "qwen3_5" && type != "qwen3_5_text") {
    return MakeError(StatusCode::kUnsupported, fields.Where("model_type"),
                     "qwen3_5_mtp (or qwen3_5 with mtp.* tensors)", type.substr(0, 80),
                     "the MTP drafter of this model's family");
  }
  const FileRole role = type == "qwen3_5_mtp" ? FileRole::kDrafter : FileRole::kModel;
  VERBATIM_ASSIGN_OR_RETURN(const QuantizationConfig quantization,
                            ParseQuantizationConfig(json, config_path.string(), role));
  VERBATIM_ASSIGN_OR_RETURN(const ShardSet shards, OpenShards(request.draft_folder));
  TensorTable table;
  for (const auto& file : shards.files) VERBATIM_RETURN_IF_ERROR(table.Add(*file, role));
  if (!table.HasMtp()) {
    return MakeError(StatusCode::kNotFound, request.draft_folder.string(), "mtp.* tensors", "none",
                     "a qwen3_5_mtp drafter folder");
  }
  ReadContext context;
  context.place = request.draft_folder.string();
  context.config_where = request.config_where;  // the target's shapes must hold
  context.quantization = quantization.present ? &quantization : nullptr;
  context.quantization_where = config_path.string();
  VERBATIM_RETURN_IF_ERROR(ReadAll(table, request, context, weights));
  return MtpResult{true, fmt::format("drafter folder {}", request.draft_folder.string()),
                   shards.files};
}

// Other files of the folder that hold mtp.*; unreadable ones are named in *notes.
Expected<MtpResult> ReadSideFile(const MtpRequest& request, ModelWeights* weights,
                                 std::string* notes) {
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> found;
  for (const std::string& name : OtherSafetensors(request.folder, *request.shards)) {
    auto file = SafetensorsFile::Open(request.folder / name);
    if (!file.ok()) {
      // Nothing says that this file belongs to the model, so that it can't stop it from loading.
      *notes += fmt::format("; {} is unreadable: {}", name, file.status().message());
      continue;
    }
    TensorTable table;
    if (table.Add(*file).ok() && table.HasMtp()) {
      found[name] = std::make_shared<SafetensorsFile>(*std::move(file));
    }
  }
  if (found.empty()) return MtpResult{};
  if (found.size() > 1) {
    return MakeError(
        StatusCode::kCorrupt, request.folder.string(), "mtp.* tensors in one file beside the model",
        fmt::format("them in {} and {}", found.begin()->first, std::next(found.begin())->first),
        "removing all but one");
  }
  const auto& [name, file] = *found.begin();
  TensorTable table;
  VERBATIM_RETURN_IF_ERROR(table.Add(*file));
  ReadContext context;
  context.place = file->where();
  context.config_where = request.config_where;
  VERBATIM_RETURN_IF_ERROR(ReadAll(table, request, context, weights));
  return MtpResult{true, name, {file}};
}

Expected<MtpResult> Absent(const MtpRequest& request, StatusCode code, std::string reason) {
  if (!request.wanted) return MtpResult{false, std::move(reason), {}};
  return MakeError(code, request.folder.string(), "MTP weights", reason,
                   "a checkpoint with mtp.* tensors, a drafter folder, or another drafter");
}

}  // namespace

Expected<MtpResult> ReadMtp(const MtpRequest& request, ModelWeights* weights) {
  if (request.config->mtp_use_dedicated_embeddings) {
    return Absent(request, StatusCode::kUnsupported,
                  "none used: mtp_use_dedicated_embeddings is true, which this build cannot run");
  }
  if (request.config->mtp_num_hidden_layers > 1) {
    return Absent(request, StatusCode::kUnsupported,
                  fmt::format("none used: {} MTP layers, where this build runs one",
                              request.config->mtp_num_hidden_layers));
  }
  if (!request.draft_folder.empty()) return ReadDrafter(request, weights);
  if (request.table->HasMtp()) {
    ReadContext context;
    context.place = request.folder.string();
    context.config_where = request.config_where;
    context.quantization = request.quantization;
    context.quantization_where = request.config_where;
    VERBATIM_RETURN_IF_ERROR(ReadAll(*request.table, request, context, weights));
    return MtpResult{true, ShardsWithMtp(request), {}};
  }
  std::string notes;
  VERBATIM_ASSIGN_OR_RETURN(MtpResult side, ReadSideFile(request, weights, &notes));
  if (side.found) return side;
  return Absent(request, StatusCode::kNotFound,
                fmt::format("none: no mtp.* tensors in {} or in another .safetensors file of {}{}",
                            request.shards->file_names.size() == 1
                                ? request.shards->file_names[0]
                                : fmt::format("{} shards", request.shards->file_names.size()),
                            request.folder.string(), notes));
}

}  // namespace verbatim
