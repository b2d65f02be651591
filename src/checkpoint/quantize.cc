// Plan every tensor, write one file, then move the finished folder into place.
#include "checkpoint/quantize.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file_writer.h"
#include "base/float_environment.h"
#include "base/half.h"
#include "base/mapped_file.h"
#include "base/temporary_folder.h"
#include "checkpoint/json.h"
#include "checkpoint/loader.h"
#include "checkpoint/mlx_affine.h"
#include "checkpoint/qwen35_inventory.h"
#include "checkpoint/safetensors_writer.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

// What a loaded model needs besides weights and config.json; copied where it exists.
constexpr std::string_view kCopiedFiles[] = {
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
};

bool GlobMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.npos;  // the last * seen, and where its match would go on
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// The whole path, or any run of its last components.
bool OverrideMatches(std::string_view pattern, std::string_view path) {
  const CanonicalName canonical = CanonicalizePath(pattern);
  if (canonical.origin != TensorOrigin::kUnknown) pattern = canonical.name;
  while (true) {
    if (GlobMatches(pattern, path)) return true;
    const size_t dot = path.find('.');
    if (dot == path.npos) return false;
    path.remove_prefix(dot + 1);
  }
}

std::string MlxPath(const std::string& path) {
  if (path.starts_with("mtp.")) return path;
  return path == "lm_head" ? "language_model.lm_head" : "language_model.model." + path;
}

const char* DtypeName(WeightType type) {
  return type == WeightType::kF32 ? "F32" : type == WeightType::kBF16 ? "BF16" : "F16";
}

float Rounded(float value, WeightType type) {
  if (type == WeightType::kF32) return value;
  return type == WeightType::kBF16 ? Bf16ToFloat(FloatToBf16(value))
                                   : F16ToFloat(FloatToF16(value));
}

std::vector<std::byte> Encode(std::span<const float> values, WeightType type) {
  const size_t width = type == WeightType::kF32 ? 4 : 2;
  std::vector<std::byte> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == WeightType::kF32) {
      std::memcpy(&bytes[4 * i], &values[i], 4);
    } else {
      const uint16_t half =
          type == WeightType::kBF16 ? FloatToBf16(values[i]) : FloatToF16(values[i]);
      std::memcpy(&bytes[2 * i], &half, 2);
    }
  }
  return bytes;
}

TensorToWrite OwnedTensor(std::string name, WeightType type, std::vector<int64_t> shape,
                          std::vector<std::byte> bytes) {
  auto owned = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return {std::move(name), DtypeName(type), std::move(shape),
          [owned](const ByteSink& sink) { return sink(*owned); }};
}

// A norm is stored as 1 + w, except in the MTP head, where the mtp. prefix says that it is w
// (qwen3_5.md 5.2). v - 1 is exact for every v = 1 + w that a raw file gives: v is a multiple of
// 2^-24, and so is v - 1.
TensorToWrite VectorTensor(const ExpectedTensor& spec, const WeightVector& vector) {
  std::vector<float> values = vector.values;
  const bool raw = spec.kind == ExpectedTensor::Kind::kNorm && spec.path.starts_with("mtp.");
  bool exact = true;
  for (float& value : values) {
    if (raw) value -= 1.0f;
    exact = exact && Rounded(value, vector.stored_as) == value;
  }
  std::vector<int64_t> shape = vector.shape;
  if (spec.kind == ExpectedTensor::Kind::kConv) shape.push_back(1);
  const WeightType type = exact ? vector.stored_as : WeightType::kF32;
  return OwnedTensor(MlxPath(spec.path) + spec.file_suffix, type, std::move(shape),
                     Encode(values, type));
}

// A matrix that stays dense.
TensorToWrite DenseTensor(const std::string& path, const WeightMatrix& matrix) {
  const std::string name = MlxPath(path) + ".weight";
  const std::vector<int64_t> shape{matrix.rows, matrix.cols};
  if (matrix.format.type != WeightType::kAffine) {
    return TensorFromBytes(name, DtypeName(matrix.format.type), shape, matrix.data);
  }
  const WeightType type = matrix.format.scale_type;
  return {name, DtypeName(type), shape, [&matrix, type](const ByteSink& sink) -> Status {
            std::vector<float> row(static_cast<size_t>(matrix.cols));
            for (int64_t r = 0; r < matrix.rows; ++r) {
              DequantizeRow(matrix, r, row);
              VERBATIM_RETURN_IF_ERROR(sink(Encode(row, type)));
            }
            return {};
          }};
}

// The three tensors of a quantized matrix. The words come first in the file and are computed when
// they are written; scales and biases wait in memory until their turn.
std::array<TensorToWrite, 3> AffineTensors(const std::string& path, const WeightMatrix& matrix,
                                           AffineParameters parameters) {
  const std::string name = MlxPath(path);
  const int64_t groups = matrix.cols / parameters.group_size;
  const WeightType type =
      matrix.format.type == WeightType::kAffine ? matrix.format.scale_type : matrix.format.type;
  const std::vector<int64_t> words{matrix.rows, matrix.cols * parameters.bits / 32};
  const std::vector<int64_t> scales{matrix.rows, groups};
  if (matrix.format.type == WeightType::kAffine && matrix.format.bits == parameters.bits &&
      matrix.format.group_size == parameters.group_size) {
    return {TensorFromBytes(name + ".weight", "U32", words, matrix.data),
            TensorFromBytes(name + ".scales", DtypeName(type), scales, matrix.scales),
            TensorFromBytes(name + ".biases", DtypeName(type), scales, matrix.biases)};
  }
  auto quantized = std::make_shared<AffineMatrix>();
  return {TensorToWrite{name + ".weight", "U32", words,
                        [quantized, &matrix, parameters](const ByteSink& sink) -> Status {
                          VERBATIM_ASSIGN_OR_RETURN(*quantized, QuantizeAffine(matrix, parameters));
                          VERBATIM_RETURN_IF_ERROR(sink(quantized->data));
                          std::vector<std::byte>().swap(quantized->data);
                          return {};
                        }},
          TensorToWrite{name + ".scales", DtypeName(type), scales,
                        [quantized](const ByteSink& sink) { return sink(quantized->scales); }},
          TensorToWrite{name + ".biases", DtypeName(type), scales,
                        [quantized](const ByteSink& sink) { return sink(quantized->biases); }}};
}

struct Plan {
  std::vector<TensorToWrite> words;   // U32
  std::vector<TensorToWrite> wide;    // F32
  std::vector<TensorToWrite> narrow;  // 16 bits
  nlohmann::ordered_json quantization;
  QuantizeReport report;

  void Add(TensorToWrite tensor) {
    auto& list = tensor.dtype == "U32" ? words : tensor.dtype == "F32" ? wide : narrow;
    list.push_back(std::move(tensor));
  }
};

// What the options say about one matrix; nullopt: stays dense, for `reason`.
std::optional<AffineParameters> Choose(const QuantizeOptions& options, const std::string& path,
                                       const WeightMatrix& matrix, std::vector<bool>* used,
                                       std::string* reason) {
  std::optional<AffineParameters> chosen = options.parameters;
  for (size_t i = 0; i < options.overrides.size(); ++i) {
    const QuantizeOverride& entry = options.overrides[i];
    if (!OverrideMatches(entry.pattern, path)) continue;
    (*used)[i] = true;
    chosen.reset();
    if (entry.bits.has_value()) {
      chosen = {*entry.bits, entry.group_size.value_or(options.parameters.group_size)};
    }
  }
  if (!chosen.has_value()) {
    *reason = "as asked";
  } else if (matrix.cols % chosen->group_size != 0) {
    *reason = fmt::format("{} columns are no multiple of {}", matrix.cols, chosen->group_size);
    chosen.reset();
  }
  return chosen;
}

Expected<Plan> MakePlan(const QuantizeOptions& options, const Checkpoint& checkpoint) {
  std::vector<ExpectedTensor> inventory = TextInventory(checkpoint.config);
  if (checkpoint.has_mtp) {
    const std::vector<ExpectedTensor> mtp = MtpInventory(checkpoint.config);
    inventory.insert(inventory.end(), mtp.begin(), mtp.end());
  }
  Plan plan;
  plan.report.has_mtp = checkpoint.has_mtp;
  plan.quantization = {{"group_size", options.parameters.group_size},
                       {"bits", options.parameters.bits},
                       {"mode", "affine"}};
  std::vector<bool> used(options.overrides.size(), false);
  for (const ExpectedTensor& spec : inventory) {
    if (spec.kind != ExpectedTensor::Kind::kMatrix) {
      VERBATIM_ASSIGN_OR_RETURN(const WeightVector* vector, checkpoint.weights.Vector(spec.path));
      plan.report.bytes_before += static_cast<int64_t>(
          vector->values.size() * (vector->stored_as == WeightType::kF32 ? 4 : 2));
      plan.Add(VectorTensor(spec, *vector));
      continue;
    }
    VERBATIM_ASSIGN_OR_RETURN(const WeightMatrix* matrix, checkpoint.weights.Matrix(spec.path));
    plan.report.bytes_before += matrix->bytes();
    std::string reason;
    const auto chosen = Choose(options, spec.path, *matrix, &used, &reason);
    if (chosen.has_value()) {
      for (TensorToWrite& tensor : AffineTensors(spec.path, *matrix, *chosen)) {
        plan.Add(std::move(tensor));
      }
      ++plan.report.quantized;
      if (*chosen != options.parameters) {
        plan.quantization[MlxPath(spec.path)] = {{"group_size", chosen->group_size},
                                                 {"bits", chosen->bits}};
      }
    } else {
      plan.Add(DenseTensor(spec.path, *matrix));
      plan.report.kept.push_back(fmt::format("{} ({})", spec.path, reason));
      plan.quantization[MlxPath(spec.path)] = false;
    }
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    return MakeError(StatusCode::kInvalidArgument, "override",
                     "a pattern that matches a matrix of the model", options.overrides[i].pattern,
                     "the names that `inspect` prints");
  }
  return plan;
}

Expected<std::string> NewConfig(const fs::path& path, const nlohmann::ordered_json& quantization,
                                bool has_mtp) {
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxConfigBytes));
  // Already parsed and checked by the loader; this keeps the order of the keys.
  auto config = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  config.erase("quantization");
  config.erase("quantization_config");
  if (has_mtp) {
    // null counts as absent, as it does for ParseQwen35Config.
    const bool nested = config.contains("text_config") && !config["text_config"].is_null();
    auto& fields = nested ? config["text_config"] : config;
    fields["mtp_num_hidden_layers"] = 1;
  }
  config["quantization"] = quantization;
  config["quantization_config"] = quantization;
  return config.dump(2) + "\n";
}

Status CheckOptions(const QuantizeOptions& options) {
  const auto check = [](int bits, int group, std::string_view where) -> Status {
    if (!IsAffineBits(bits)) {
      return MakeError(StatusCode::kInvalidArgument, where, "2, 3, 4, 5, 6 or 8 bits",
                       fmt::format("{}", bits));
    }
    if (!IsAffineGroupSize(group)) {
      return MakeError(StatusCode::kInvalidArgument, where, "a group of 32, 64 or 128",
                       fmt::format("{}", group));
    }
    return {};
  };
  VERBATIM_RETURN_IF_ERROR(
      check(options.parameters.bits, options.parameters.group_size, "quantize"));
  for (const QuantizeOverride& entry : options.overrides) {
    if (!entry.bits.has_value()) continue;
    VERBATIM_RETURN_IF_ERROR(check(*entry.bits,
                                   entry.group_size.value_or(options.parameters.group_size),
                                   "override " + entry.pattern));
  }
  std::error_code error;
  if (options.output.filename().empty() || fs::exists(options.output, error)) {
    return MakeError(StatusCode::kInvalidArgument, options.output.string(),
                     "the name of a folder that does not exist yet",
                     options.output.filename().empty() ? "no name" : "an existing one",
                     "another name, or removing it first");
  }
  return {};
}

Status CopyFiles(const fs::path& from, const fs::path& to) {
  for (const std::string_view name : kCopiedFiles) {
    std::error_code error;
    if (!fs::exists(from / name, error)) continue;
    VERBATIM_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(from / name));
    VERBATIM_ASSIGN_OR_RETURN(FileWriter copy, FileWriter::Create(to / name));
    VERBATIM_RETURN_IF_ERROR(copy.Write(file.bytes()));
    VERBATIM_RETURN_IF_ERROR(copy.Commit());
  }
  return {};
}

Status CheckStop(const QuantizeOptions& options) {
  if (!options.stop || !options.stop()) return {};
  return MakeError(StatusCode::kCancelled, options.output.string(), "to finish",
                   "a request to stop");
}

// All tensors in file order, reporting progress and heeding a stop as they are written.
std::vector<TensorToWrite> InOrder(Plan plan, const QuantizeOptions& options) {
  std::vector<TensorToWrite> tensors;
  for (auto* list : {&plan.words, &plan.wide, &plan.narrow}) {
    for (TensorToWrite& tensor : *list) tensors.push_back(std::move(tensor));
  }
  const double total = static_cast<double>(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].write = [inner = std::move(tensors[i].write), &options, i, total,
                        name = tensors[i].name](const ByteSink& sink) -> Status {
      VERBATIM_RETURN_IF_ERROR(CheckStop(options));
      if (options.progress) options.progress(static_cast<double>(i) / total, name);
      return inner([&](std::span<const std::byte> bytes) -> Status {
        VERBATIM_RETURN_IF_ERROR(CheckStop(options));
        return sink(bytes);
      });
    };
  }
  return tensors;
}

}  // namespace

Expected<QuantizeOverride> ParseQuantizeOverride(std::string_view text) {
  const auto fault = [&] {
    return MakeError(StatusCode::kInvalidArgument, "override",
                     "PATTERN=BITS, PATTERN=BITS/GROUP or PATTERN=none", text);
  };
  const auto number = [](std::string_view digits, std::optional<int>* out) {
    int value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    *out = value;
    return code == std::errc() && end == digits.data() + digits.size();
  };
  const size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0) return fault();
  QuantizeOverride result;
  result.pattern = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  if (value == "none") return result;
  const size_t slash = value.find('/');
  if (!number(value.substr(0, slash), &result.bits)) return fault();
  if (slash != value.npos && !number(value.substr(slash + 1), &result.group_size)) return fault();
  return result;
}

Expected<QuantizeReport> QuantizeCheckpoint(const QuantizeOptions& given) {
  const FloatEnvironment environment;
  QuantizeOptions options = given;
  options.output = fs::path(given.output).lexically_normal();
  if (options.output.filename().empty()) options.output = options.output.parent_path();
  VERBATIM_RETURN_IF_ERROR(CheckOptions(options));
  LoadOptions load;
  load.model = options.model;
  load.draft_model = options.draft_model;
  VERBATIM_ASSIGN_OR_RETURN(const Checkpoint checkpoint, LoadCheckpoint(load));
  VERBATIM_ASSIGN_OR_RETURN(Plan plan, MakePlan(options, checkpoint));
  VERBATIM_ASSIGN_OR_RETURN(
      const std::string config,
      NewConfig(checkpoint.folder / "config.json", plan.quantization, checkpoint.has_mtp));

  VERBATIM_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::CreateBeside(options.output));
  QuantizeReport report = std::move(plan.report);
  const fs::path weights = folder.path() / "model.safetensors";
  VERBATIM_RETURN_IF_ERROR(
      WriteSafetensors(weights, InOrder(std::move(plan), options), {{"format", "mlx"}}));
  VERBATIM_ASSIGN_OR_RETURN(FileWriter config_file,
                            FileWriter::Create(folder.path() / "config.json"));
  VERBATIM_RETURN_IF_ERROR(config_file.Write(config));
  VERBATIM_RETURN_IF_ERROR(config_file.Commit());
  VERBATIM_RETURN_IF_ERROR(CopyFiles(checkpoint.folder, folder.path()));
  std::error_code error;
  report.bytes_after = static_cast<int64_t>(fs::file_size(weights, error));
  VERBATIM_RETURN_IF_ERROR(CheckStop(options));
  VERBATIM_RETURN_IF_ERROR(folder.RenameTo(options.output));
  if (options.progress) options.progress(1.0, "done");
  return report;
}

}  // namespace verbatim
