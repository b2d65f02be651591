// Checks each tensor against config.json, then views (matrices) or widens (vectors) it.
#include "checkpoint/tensor_table.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "checkpoint/mlx_affine.h"

namespace verbatim {
namespace {

using Kind = ExpectedTensor::Kind;

std::optional<WeightType> FloatType(std::string_view dtype) {
  if (dtype == "F32") return WeightType::kF32;
  if (dtype == "BF16") return WeightType::kBF16;
  if (dtype == "F16") return WeightType::kF16;
  return std::nullopt;
}

Status TypeFault(const SourceTensor& tensor, std::string_view expected) {
  return MakeError(StatusCode::kUnsupported, tensor.Where(), expected, tensor.info->dtype,
                   "a checkpoint in bf16, f16, f32 or MLX affine");
}

Status ShapeFault(const SourceTensor& tensor, const std::vector<int64_t>& expected,
                  const ExpectedTensor& spec, const ReadContext& context) {
  return MakeError(StatusCode::kCorrupt, tensor.Where(),
                   fmt::format("shape {} as {} says ({})", ShapeName(expected),
                               context.config_where, spec.derivation),
                   ShapeName(tensor.info->shape), "the config.json of this very checkpoint");
}

Status Missing(const std::string& name, const ExpectedTensor& spec, const ReadContext& context) {
  return MakeError(StatusCode::kNotFound, context.place,
                   fmt::format("tensor {} of shape {} as {} says", name, ShapeName(spec.shape),
                               context.config_where),
                   "no such tensor", "a complete checkpoint");
}

Status CheckFinite(const SourceTensor& tensor, WeightType type) {
  const size_t count = tensor.info->data.size() / (type == WeightType::kF32 ? 4 : 2);
  for (size_t i = 0; i < count; ++i) {
    const float value = ReadFloat(tensor.info->data, type, i);
    if (!std::isfinite(value)) {
      return MakeError(StatusCode::kCorrupt, tensor.Where(), "finite values",
                       fmt::format("{} at element {}", value, i), "downloading the file again");
    }
  }
  return {};
}

// Scales or biases of an affine matrix. The group size follows from their shape.
Expected<WeightType> CheckGroupTensor(const SourceTensor* tensor, const std::string& name,
                                      int64_t rows, int64_t groups, const ExpectedTensor& spec,
                                      const ReadContext& context) {
  if (tensor == nullptr) return Missing(name, spec, context);
  const std::optional<WeightType> type = FloatType(tensor->info->dtype);
  if (!type.has_value()) return TypeFault(*tensor, "F32, BF16 or F16 scales and biases");
  if (tensor->info->shape != std::vector<int64_t>{rows, groups}) {
    return MakeError(StatusCode::kCorrupt, tensor->Where(),
                     fmt::format("shape {}", ShapeName({rows, groups})),
                     ShapeName(tensor->info->shape), "an undamaged MLX affine checkpoint");
  }
  VERBATIM_RETURN_IF_ERROR(CheckFinite(*tensor, *type));
  return *type;
}

// Holds what the tensors say against the config's block.
Status CheckAgainstConfig(const SourceTensor& weight, const ExpectedTensor& spec,
                          const WeightFormat& format, const ReadContext& context) {
  if (context.quantization == nullptr) return {};
  if (context.quantization->separate_mtp && spec.path.starts_with("mtp.")) return {};
  const std::string received =
      fmt::format("{} bits in groups of {}", format.bits, format.group_size);
  if (!context.quantization->present) {
    return MakeError(StatusCode::kCorrupt, weight.Where(),
                     fmt::format("no quantized tensors, as {} has no quantization block",
                                 context.quantization_where),
                     received, "the config.json of this very checkpoint");
  }
  const std::optional<AffineParameters> said = context.quantization->Lookup(spec.path);
  if (said == AffineParameters{format.bits, format.group_size}) return {};
  return MakeError(StatusCode::kCorrupt, weight.Where(),
                   said.has_value()
                       ? fmt::format("{} bits in groups of {} as {} says", said->bits,
                                     said->group_size, context.quantization_where)
                       : fmt::format("no quantization as {} says", context.quantization_where),
                   received, "the config.json of this very checkpoint");
}

Expected<WeightMatrix> ReadAffine(const TensorTable& table, const ExpectedTensor& spec,
                                  const SourceTensor& weight, const ReadContext& context) {
  const int64_t rows = spec.shape[0];
  const int64_t cols = spec.shape[1];
  const std::vector<int64_t>& words = weight.info->shape;
  if (weight.info->dtype != "U32") return TypeFault(weight, "U32 words beside scales");
  if (words.size() != 2 || words[0] != rows || words[1] <= 0 || words[1] > cols ||
      (32 * words[1]) % cols != 0 || !IsAffineBits(32 * words[1] / cols)) {
    return MakeError(StatusCode::kCorrupt, weight.Where(),
                     fmt::format("words of 2, 3, 4, 5, 6 or 8 bits for shape {} as {} says ({})",
                                 ShapeName(spec.shape), context.config_where, spec.derivation),
                     ShapeName(words), "the config.json of this very checkpoint");
  }
  WeightMatrix matrix;
  matrix.name = weight.info->name;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.format.type = WeightType::kAffine;
  matrix.format.bits = static_cast<int>(32 * words[1] / cols);
  matrix.data = weight.info->data;

  const std::string scales_name = spec.path + ".scales";
  const std::string biases_name = spec.path + ".biases";
  const SourceTensor* scales = table.Find(scales_name);
  const SourceTensor* biases = table.Find(biases_name);
  if (scales == nullptr) return Missing(scales_name, spec, context);
  const std::vector<int64_t>& shape = scales->info->shape;
  if (shape.size() != 2 || shape[0] != rows || shape[1] <= 0 || cols % shape[1] != 0 ||
      !IsAffineGroupSize(cols / shape[1])) {
    return MakeError(StatusCode::kCorrupt, scales->Where(),
                     fmt::format("[{}, {} / 32, 64 or 128]", rows, cols), ShapeName(shape),
                     "an undamaged MLX affine checkpoint");
  }
  matrix.format.group_size = static_cast<int>(cols / shape[1]);
  VERBATIM_ASSIGN_OR_RETURN(matrix.format.scale_type,
                            CheckGroupTensor(scales, scales_name, rows, shape[1], spec, context));
  VERBATIM_ASSIGN_OR_RETURN(const WeightType bias_type,
                            CheckGroupTensor(biases, biases_name, rows, shape[1], spec, context));
  if (bias_type != matrix.format.scale_type) {
    return MakeError(StatusCode::kCorrupt, biases->Where(),
                     fmt::format("the type of the scales, {}", scales->info->dtype),
                     biases->info->dtype);
  }
  VERBATIM_RETURN_IF_ERROR(CheckAgainstConfig(weight, spec, matrix.format, context));
  matrix.scales = scales->info->data;
  matrix.biases = biases->info->data;
  return matrix;
}

Expected<WeightMatrix> ReadMatrix(const TensorTable& table, const ExpectedTensor& spec,
                                  const SourceTensor& weight, const ReadContext& context) {
  if (table.Find(spec.path + ".scales") != nullptr || weight.info->dtype == "U32") {
    return ReadAffine(table, spec, weight, context);
  }
  const std::optional<WeightType> type = FloatType(weight.info->dtype);
  if (!type.has_value()) return TypeFault(weight, "F32, BF16, F16 or MLX affine weights");
  if (weight.info->shape != spec.shape) return ShapeFault(weight, spec.shape, spec, context);
  WeightMatrix matrix;
  matrix.name = weight.info->name;
  matrix.format.type = *type;
  matrix.rows = spec.shape[0];
  matrix.cols = spec.shape[1];
  matrix.data = weight.info->data;
  return matrix;
}

Expected<WeightVector> ReadVector(const ExpectedTensor& spec, const SourceTensor& tensor,
                                  const ReadContext& context) {
  const std::optional<WeightType> type = FloatType(tensor.info->dtype);
  if (!type.has_value()) return TypeFault(tensor, "F32, BF16 or F16 values");
  std::vector<int64_t> expected = spec.shape;
  if (spec.kind == Kind::kConv) {
    expected.insert(context.raw_layout ? expected.begin() + 1 : expected.end(), 1);
  }
  if (tensor.info->shape != expected) return ShapeFault(tensor, expected, spec, context);
  VERBATIM_RETURN_IF_ERROR(CheckFinite(tensor, *type));

  const bool add_one =
      spec.kind == Kind::kNorm && (tensor.origin == TensorOrigin::kMtpRaw ||
                                   (tensor.origin == TensorOrigin::kText && context.raw_layout));
  WeightVector vector;
  vector.name = tensor.info->name;
  vector.stored_as = *type;
  vector.shape = spec.shape;
  vector.values.resize(tensor.info->data.size() / (*type == WeightType::kF32 ? 4 : 2));
  for (size_t i = 0; i < vector.values.size(); ++i) {
    const float value = ReadFloat(tensor.info->data, *type, i);
    vector.values[i] = add_one ? 1.0f + value : value;
  }
  return vector;
}

}  // namespace

Status TensorTable::Add(const SafetensorsFile& file, FileRole role) {
  for (const auto& [name, info] : file.tensors()) {
    CanonicalName canonical = CanonicalizePath(name, role);
    if (canonical.origin == TensorOrigin::kVision) {
      ++num_vision_tensors_;
      continue;
    }
    if (canonical.origin == TensorOrigin::kUnknown) {
      unknown_.push_back(name);
      continue;
    }
    const SourceTensor source{&file, &info, canonical.origin};
    const auto [stored, inserted] = tensors_.emplace(std::move(canonical.name), source);
    if (!inserted) {
      return MakeError(StatusCode::kCorrupt, source.Where(),
                       fmt::format("one tensor for {}", stored->first),
                       fmt::format("{} too", stored->second.Where()));
    }
  }
  return {};
}

const SourceTensor* TensorTable::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

bool TensorTable::HasMtp() const {
  const auto first = tensors_.lower_bound("mtp.");
  return first != tensors_.end() && first->first.starts_with("mtp.");
}

Status ReadExpected(const TensorTable& table, const ExpectedTensor& spec,
                    const ReadContext& context, ModelWeights* weights) {
  const std::string name = spec.path + spec.file_suffix;
  const SourceTensor* tensor = table.Find(name);
  if (tensor == nullptr) return Missing(name, spec, context);
  if (spec.kind == Kind::kMatrix) {
    VERBATIM_ASSIGN_OR_RETURN(weights->matrices[spec.path],
                              ReadMatrix(table, spec, *tensor, context));
  } else {
    VERBATIM_ASSIGN_OR_RETURN(weights->vectors[spec.path], ReadVector(spec, *tensor, context));
  }
  return {};
}

}  // namespace verbatim
