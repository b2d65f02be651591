// Per-path overrides under either naming scheme; anything but affine is refused by name.
#include "checkpoint/quantization_config.h"

#include <fmt/format.h>

#include "checkpoint/json.h"

namespace verbatim {
namespace {

Status CheckMode(const JsonFields& block) {
  if (!block.Has("mode")) return {};  // older files: affine was the only mode
  VERBATIM_ASSIGN_OR_RETURN(const std::string mode, block.String("mode"));
  if (mode == "affine") return {};
  return MakeError(StatusCode::kUnsupported, block.Where("mode"), "affine", mode.substr(0, 80),
                   "a checkpoint quantized in affine mode");
}

// Reads bits and group_size where they are given; what is missing keeps its value in *parameters.
Status ReadParameters(const JsonFields& block, AffineParameters* parameters) {
  VERBATIM_RETURN_IF_ERROR(CheckMode(block));
  if (block.Has("bits") || parameters->bits == 0) {
    VERBATIM_ASSIGN_OR_RETURN(const int64_t bits, block.Integer("bits", 1, 32));
    if (!IsAffineBits(bits)) {
      return MakeError(StatusCode::kUnsupported, block.Where("bits"), "2, 3, 4, 5, 6 or 8",
                       fmt::format("{}", bits));
    }
    parameters->bits = static_cast<int>(bits);
  }
  if (block.Has("group_size") || parameters->group_size == 0) {
    VERBATIM_ASSIGN_OR_RETURN(const int64_t group, block.Integer("group_size", 1, 65536));
    if (!IsAffineGroupSize(group)) {
      return MakeError(StatusCode::kUnsupported, block.Where("group_size"), "32, 64 or 128",
                       fmt::format("{}", group));
    }
    parameters->group_size = static_cast<int>(group);
  }
  return {};
}

Expected<QuantizationConfig> ParseBlock(const nlohmann::json& json, const JsonFields& block,
                                        FileRole role) {
  if (const nlohmann::json* method = block.Find("quant_method"); method != nullptr) {
    return MakeError(StatusCode::kUnsupported, block.Where("quant_method"),
                     "MLX affine quantization", JsonForMessage(*method),
                     "the 16-bit checkpoint or an MLX affine one");
  }
  QuantizationConfig config;
  config.present = true;
  VERBATIM_RETURN_IF_ERROR(ReadParameters(block, &config.defaults));
  for (const auto& [key, value] : json.items()) {
    // A path has dots; settings (bits, group_size, mode, ...) have none.
    const bool scalar = !value.is_object() && !value.is_boolean();
    if (scalar && (value.is_null() || key.find('.') == key.npos)) continue;
    const CanonicalName name = CanonicalizePath(key, role);
    if (name.origin == TensorOrigin::kVision || name.origin == TensorOrigin::kUnknown) continue;
    if (scalar) {
      return MakeError(StatusCode::kCorrupt, block.Where(key), "an object, true or false",
                       JsonForMessage(value));
    }
    std::optional<AffineParameters> parameters = config.defaults;
    if (value.is_object()) {
      VERBATIM_ASSIGN_OR_RETURN(const JsonFields entry, block.Object(key));
      VERBATIM_RETURN_IF_ERROR(ReadParameters(entry, &*parameters));
    } else if (!value.get<bool>()) {
      parameters.reset();
    }
    const auto [stored, inserted] = config.overrides.emplace(name.name, parameters);
    if (!inserted && stored->second != parameters) {
      return MakeError(StatusCode::kCorrupt, block.Where(key),
                       fmt::format("one setting for {}", name.name),
                       "a second, different one under another prefix");
    }
  }
  return config;
}

}  // namespace

bool IsAffineBits(int64_t bits) { return (bits >= 2 && bits <= 6) || bits == 8; }

bool IsAffineGroupSize(int64_t group_size) {
  return group_size == 32 || group_size == 64 || group_size == 128;
}

std::optional<AffineParameters> QuantizationConfig::Lookup(std::string_view path) const {
  if (!present) return std::nullopt;
  const auto found = overrides.find(path);
  return found == overrides.end() ? std::optional(defaults) : found->second;
}

Expected<QuantizationConfig> ParseQuantizationConfig(const nlohmann::json& json,
                                                     const std::string& where, FileRole role) {
  const JsonFields top(json, where);
  QuantizationConfig result;
  for (const std::string_view key : {"quantization", "quantization_config"}) {
    if (!top.Has(key)) continue;
    VERBATIM_ASSIGN_OR_RETURN(const JsonFields block, top.Object(key));
    VERBATIM_ASSIGN_OR_RETURN(QuantizationConfig parsed, ParseBlock(*top.Find(key), block, role));
    if (result.present && parsed != result) {
      return MakeError(StatusCode::kCorrupt, top.Where(key), "a copy of `quantization`",
                       "different settings");
    }
    result = std::move(parsed);
  }
  result.separate_mtp = top.Has("mtplx_mtp_quantization");
  return result;
}

}  // namespace verbatim
