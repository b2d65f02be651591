// Prefix rules only; what tensors must exist is qwen35_inventory.h.
#include "checkpoint/tensor_names.h"

namespace verbatim {
namespace {

bool StripPrefix(std::string_view prefix, std::string_view* name) {
  if (!name->starts_with(prefix)) return false;
  name->remove_prefix(prefix.size());
  return true;
}

bool IsHead(std::string_view name) { return name == "lm_head" || name.starts_with("lm_head."); }

}  // namespace

CanonicalName CanonicalizePath(std::string_view name, FileRole role) {
  for (const std::string_view vision :
       {"model.visual.", "vision_tower.", "visual.", "model.vision_tower.", "vision_model."}) {
    if (name.starts_with(vision)) return {TensorOrigin::kVision, std::string(name)};
  }
  if (name.starts_with("mtp.")) return {TensorOrigin::kMtpRaw, std::string(name)};
  std::string_view rest = name;
  if (StripPrefix("language_model.mtp.", &rest)) {
    return {TensorOrigin::kMtpConverted, "mtp." + std::string(rest)};
  }
  if (role == FileRole::kDrafter) return {TensorOrigin::kMtpConverted, "mtp." + std::string(name)};
  // The longest prefix first: "model." is a prefix of "model.language_model.".
  if (StripPrefix("model.language_model.", &rest) || StripPrefix("language_model.model.", &rest) ||
      StripPrefix("model.", &rest)) {
    return {TensorOrigin::kText, std::string(rest)};
  }
  StripPrefix("language_model.", &rest);
  if (IsHead(rest)) return {TensorOrigin::kText, std::string(rest)};
  return {TensorOrigin::kUnknown, std::string(name)};
}

}  // namespace verbatim
