// ContractMode: what the engine does with its promise that speculation never changes the output
// (docs/contract.md).
#ifndef VERBATIM_CONTRACT_H_
#define VERBATIM_CONTRACT_H_

#include <cstdint>
#include <optional>
#include <string>
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

// What the probe at load found out about the loaded weights on this machine. Anything but kEqual
// means that `exact` declines and `strict` refuses.
enum class ProbeVerdict {
  kEqual,      // every row of every block had the bytes of the same row alone, by the same routes
  kDiverges,   // bytes differ, and no single op shows where
  kLocalized,  // the first op that differs is known
  kNotRun,     // not asked for, or impossible
};

std::string_view ProbeVerdictName(ProbeVerdict verdict);  // "equal", "diverges", ...

struct ProbeReport {
  ProbeVerdict verdict = ProbeVerdict::kNotRun;
  std::string detail = {};       // where and how it differs, or why it did not run
  std::string op = {};           // kLocalized: "linear", "attention", ...
  int layer = -1;                // kLocalized; -1: outside of the layers
  int64_t differing_bytes = 0;   // kDiverges and kLocalized, of the output compared
  double ms = 0;                 // what it took
  double budget_ms = 0;          // what it may take
  int64_t linear_shapes = 0;     // distinct matrices by format and shape
  int64_t outputs_compared = 0;  // of linears, block against single rows
  int64_t rows_walked = 0;       // of blocks, through the model's layers
  int layers_walked = 0;         // large models: the first ones, with every kind of op in them
};

}  // namespace verbatim

#endif  // VERBATIM_CONTRACT_H_
