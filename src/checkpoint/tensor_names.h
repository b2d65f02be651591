// CanonicalName: one name per tensor whatever prefix a checkpoint uses (qwen3_5.md 5.1, 5.2, 6).
#ifndef VERBATIM_CHECKPOINT_TENSOR_NAMES_H_
#define VERBATIM_CHECKPOINT_TENSOR_NAMES_H_

#include <string>
#include <string_view>

namespace verbatim {

enum class TensorOrigin {
  kText,          // the text model or its head
  kMtpRaw,        // an MTP tensor in Hugging Face form: norms are stored as w
  kMtpConverted,  // an MTP tensor of an MLX converter: norms are stored as 1 + w
  kVision,        // the vision tower: skipped
  kUnknown,       // no prefix that we know
};

enum class FileRole {
  kModel,    // a model's own files
  kDrafter,  // a qwen3_5_mtp folder, where names have no prefix
};

struct CanonicalName {
  TensorOrigin origin = TensorOrigin::kUnknown;
  std::string name;  // "layers.0.mlp.up_proj.weight", "lm_head.weight", "mtp.fc.weight"
};

// Accepts model.language_model., language_model.model. and model. before the text model's names;
// lm_head. alone or behind any of these or language_model.; mtp. (raw) and language_model.mtp.
// (converted: only a converter renames the module into its language model). In a drafter folder a
// bare name is a converted MTP tensor and an mtp. one is raw. The same rules serve tensor names and
// module paths.
CanonicalName CanonicalizePath(std::string_view name, FileRole role = FileRole::kModel);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_TENSOR_NAMES_H_
