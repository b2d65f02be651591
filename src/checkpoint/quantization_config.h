// QuantizationConfig: the MLX `quantization` block of a config.json, checked. The tensors decide
// what is quantized; this says how (qwen3_5.md 1.4).
#ifndef VERBATIM_CHECKPOINT_QUANTIZATION_CONFIG_H_
#define VERBATIM_CHECKPOINT_QUANTIZATION_CONFIG_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/tensor_names.h"
#include "verbatim/status.h"

namespace verbatim {

struct AffineParameters {
  int bits = 0;        // 2, 3, 4, 5, 6 or 8
  int group_size = 0;  // 32, 64 or 128

  friend bool operator==(const AffineParameters&, const AffineParameters&) = default;
};

bool IsAffineBits(int64_t bits);
bool IsAffineGroupSize(int64_t group_size);

struct QuantizationConfig {
  bool present = false;  // false: a config without the block
  AffineParameters defaults;
  // The config has an `mtplx_mtp_quantization` block: the MTP head was quantized by another tool
  // and its tensors alone say how.
  bool separate_mtp = false;
  // Canonical module path -> parameters; nullopt where the config says `false`.
  std::map<std::string, std::optional<AffineParameters>, std::less<>> overrides;

  // What the config says about one module (canonical path). nullopt: not quantized.
  std::optional<AffineParameters> Lookup(std::string_view path) const;

  friend bool operator==(const QuantizationConfig&, const QuantizationConfig&) = default;
};

// Reads `quantization` and its copy `quantization_config`. Errors: kCorrupt (bad bits or group, the
// two blocks disagree), kUnsupported (a mode other than affine, another quantizer's block), each
// naming the key.
Expected<QuantizationConfig> ParseQuantizationConfig(const nlohmann::json& config,
                                                     const std::string& where,
                                                     FileRole role = FileRole::kModel);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_QUANTIZATION_CONFIG_H_
