// QuantizeCheckpoint: any loadable checkpoint to an MLX affine folder. Not a calibrating quantizer.
#ifndef VERBATIM_CHECKPOINT_QUANTIZE_H_
#define VERBATIM_CHECKPOINT_QUANTIZE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/quantization_config.h"
#include "verbatim/status.h"

namespace verbatim {

struct QuantizeOverride {
  // A glob (* any characters, ? one) over canonical module paths ("layers.0.mlp.down_proj",
  // "mtp.fc", "embed_tokens"), or over any run of their last components ("down_proj",
  // "mlp.down_proj"). Prefixes such as language_model.model. may be given.
  std::string pattern;
  std::optional<int> bits;        // nullopt: not quantized
  std::optional<int> group_size;  // nullopt: the general one
};

// "PATTERN=BITS", "PATTERN=BITS/GROUP" or "PATTERN=none". Errors: kInvalidArgument.
Expected<QuantizeOverride> ParseQuantizeOverride(std::string_view text);

struct QuantizeOptions {
  std::string model;             // folder or id
  std::string draft_model;       // MTP weights from here instead; may be empty
  std::filesystem::path output;  // must not exist yet
  AffineParameters parameters{4, 64};
  std::vector<QuantizeOverride> overrides;  // the last that matches wins
  std::function<void(double fraction, const std::string& what)> progress;  // may be empty
  std::function<bool()> stop;  // may be empty; true ends the work with kCancelled
};

struct QuantizeReport {
  int quantized = 0;              // matrices
  std::vector<std::string> kept;  // canonical paths of matrices left dense, with the reason
  int64_t bytes_before = 0;       // of all weights
  int64_t bytes_after = 0;        // of model.safetensors
  bool has_mtp = false;
};

// Writes model.safetensors, config.json (with the quantization blocks) and copies of the tokenizer,
// generation config and chat template. The folder appears complete or not at all; equal input gives
// equal bytes. Text norms are stored as 1 + w, MTP tensors as mtp.* with norms as w, each in its
// source type if that holds it exactly, else in F32. A matrix whose columns are no multiple of the
// group, or that an override says to keep, stays in its own 16- or 32-bit type (an affine source is
// dequantized to its scale type). A matrix already quantized as asked is copied. Errors: those of
// LoadCheckpoint, kInvalidArgument (options, an override that matches nothing, an existing output),
// kIo, kCancelled (asked for before every piece that is written; nothing is left behind).
Expected<QuantizeReport> QuantizeCheckpoint(const QuantizeOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_QUANTIZE_H_
