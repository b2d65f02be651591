// Look-ups and names of weights.
#include "checkpoint/weights.h"

#include <fmt/format.h>

namespace verbatim {
namespace {

std::string_view TypeName(WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return "f32";
    case WeightType::kBF16:
      return "bf16";
    case WeightType::kF16:
      return "f16";
    case WeightType::kAffine:
      return "affine";
  }
  return "unknown";
}

template <typename Map>
auto Find(const Map& map, std::string_view name, bool other_kind, std::string_view kind)
    -> Expected<const typename Map::mapped_type*> {
  if (const auto found = map.find(name); found != map.end()) return &found->second;
  return MakeError(other_kind ? StatusCode::kCorrupt : StatusCode::kNotFound, name, kind,
                   other_kind ? "a tensor of the other kind" : "no such tensor");
}

}  // namespace

std::string FormatName(const WeightFormat& format) {
  if (format.type != WeightType::kAffine) return std::string(TypeName(format.type));
  std::string name = fmt::format("affine {}-bit g{}", format.bits, format.group_size);
  // bf16 scales are the rule; say so only when they are not.
  if (format.scale_type != WeightType::kBF16) {
    name += fmt::format(" ({} scales)", TypeName(format.scale_type));
  }
  return name;
}

Expected<const WeightMatrix*> ModelWeights::Matrix(std::string_view name) const {
  return Find(matrices, name, vectors.contains(name), "a weight matrix");
}

Expected<const WeightVector*> ModelWeights::Vector(std::string_view name) const {
  return Find(vectors, name, matrices.contains(name), "a weight vector");
}

bool ModelWeights::Contains(std::string_view name) const {
  return matrices.contains(name) || vectors.contains(name);
}

}  // namespace verbatim
