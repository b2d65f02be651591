// ContractMode: what the engine does with its promise that speculation never changes the output
// (docs/contract.md).
#ifndef VERBATIM_CONTRACT_H_
#define VERBATIM_CONTRACT_H_

#include <optional>
#include <string_view>

namespace verbatim {

enum class ContractMode {
  kExact,   // the classic chain, bit for bit; if it can't be kept, classic decode and say so
  kStrict,  // the same; if it can't be kept, refuse
  kGreedy,  // greedy-equivalent at least; a backend that is exact stays exact
  kOff,     // no speculation at all
};

std::string_view ContractModeName(ContractMode mode);  // "exact", ...
std::optional<ContractMode> ParseContractMode(std::string_view name);

}  // namespace verbatim

#endif  // VERBATIM_CONTRACT_H_
