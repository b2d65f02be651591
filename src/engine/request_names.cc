// The names of the public enumerations, as they appear in options and JSON.
#include <array>
#include <utility>

#include "verbatim/engine.h"

namespace verbatim {

std::string_view SpeculationKindName(SpeculationKind kind) {
  switch (kind) {
    case SpeculationKind::kOff:
      return "off";
    case SpeculationKind::kMtp:
      return "mtp";
    case SpeculationKind::kNgram:
      return "ngram";
    case SpeculationKind::kReplay:
      return "replay";
    case SpeculationKind::kWrong:
      return "wrong";
  }
  return "unknown";
}

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "unknown";
}

std::string_view KvCacheTypeName(KvCacheType type) {
  switch (type) {
    case KvCacheType::kBF16:
      return "bf16";
    case KvCacheType::kF16:
      return "f16";
    case KvCacheType::kF32:
      return "f32";
  }
  return "unknown";
}

namespace {

constexpr std::array<std::pair<std::string_view, ContractMode>, 4> kContractModes = {
    {{"exact", ContractMode::kExact},
     {"strict", ContractMode::kStrict},
     {"greedy", ContractMode::kGreedy},
     {"off", ContractMode::kOff}}};

}  // namespace

std::string_view ContractModeName(ContractMode mode) {
  for (const auto& [name, value] : kContractModes) {
    if (value == mode) return name;
  }
  return "unknown";
}

std::string_view ProbeVerdictName(ProbeVerdict verdict) {
  switch (verdict) {
    case ProbeVerdict::kEqual:
      return "equal";
    case ProbeVerdict::kDiverges:
      return "diverges";
    case ProbeVerdict::kLocalized:
      return "localized";
    case ProbeVerdict::kNotRun:
      break;
  }
  return "not_run";
}

std::optional<ContractMode> ParseContractMode(std::string_view name) {
  for (const auto& [known, value] : kContractModes) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace verbatim
