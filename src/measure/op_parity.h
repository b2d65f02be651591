// RunOpParity: each op of a backend as one call of T rows against T calls of one row, on the same
// inputs. Without a model's text or a chain through its layers (parity of whole models), and not a
// check of values against the reference (tests/backend).
#ifndef VERBATIM_MEASURE_OP_PARITY_H_
#define VERBATIM_MEASURE_OP_PARITY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/dispatch.h"
#include "verbatim/contract.h"
#include "verbatim/status.h"

namespace verbatim {

// "linear", "embed", ...: by the names of their dispatch records (conv_and_gated_delta has the
// folds in it), then those that run on the host: "log_softmax" and "sampler".
std::span<const std::string_view> ParityOpNames();

struct OpParityOptions {
  // kGreedy: linears may differ, which is counted and not asserted.
  ContractMode contract = ContractMode::kExact;
  std::vector<std::string> targets = {};  // instruction sets; empty: VERBATIM_TARGET, else the best
  int num_threads = 1;
  std::string model = {};  // a folder or id whose own weights and shapes to take; empty: the
                           // published shapes with random weights
  // Inputs of seed s are of ordinary size, large or small, by s mod 3.
  int num_seeds = 3;
  std::vector<int> widths = {};       // ascending, 1 to kMaxParityWidth; empty: 1 to 32
  std::vector<std::string> ops = {};  // of ParityOpNames(); empty: all
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
  std::function<bool()> stop = {};  // may be empty; true ends the work with kCancelled
};

// Twice the widest block that the issue of any engine asks for; memory grows with it.
inline constexpr int kMaxParityWidth = 64;

enum class ParityVerdict : uint8_t {
  kEqual,
  kRoute,    // equal bytes by other code, another order, another split or an order nobody knows
  kDiffers,  // bytes
};
std::string_view ParityVerdictName(ParityVerdict verdict);  // "equal", "route", "differs"

// Code that served calls of an arm.
struct ServedBy {
  ops::Op op = ops::Op::kLinear;
  std::string family;
  std::string kernel;
  ops::OrderId order = ops::OrderId::kNoSum;
  int split = 1;
};

struct ParityArm {
  std::vector<ServedBy> routes;  // each once; empty for ops on the host
  std::string sha256;            // of all that was compared, NaNs canonicalised; 64 hex digits
};

struct FirstDifference {
  int seed = 0;
  std::string place = {};               // "row 9, value 17", "state, value 3 (after 2 of 4 drafts)"
  std::string block = {}, single = {};  // the two values
};

// One op at one shape and width, over all seeds and patterns of acceptance.
struct WidthParity {
  int width = 0;                             // T
  int64_t comparisons = 0;                   // block calls, each against `width` calls of one row
  int64_t row_bytes = 0;                     // compared bytes of one row, over the comparisons
  std::vector<int64_t> differing_row_bytes;  // [T] of them differ
  int64_t state_bytes = 0;                   // KV pages or recurrent state left by both arms
  int64_t differing_state_bytes = 0;
  // Between two binary32 (or 16-bit) values, in steps of representable ones; kUlpOfNan if just one
  // of them is NaN. Values that are no numbers (ids) have none.
  uint64_t max_ulp = 0;
  bool same_route = true;
  ParityArm block, single;
  std::optional<FirstDifference> first;

  int64_t differing_bytes() const;
  int64_t bytes() const { return row_bytes * width + state_bytes; }
  ParityVerdict verdict() const;
};
inline constexpr uint64_t kUlpOfNan = UINT64_MAX;

struct OpParityCase {
  std::string target = {};  // "host" for ops that no backend runs
  std::string op = {};
  std::string model = {};   // "Qwen3.5 27B", or the folder of --model
  std::string what = {};    // which of the model's: "q_proj, gate_proj", "sliding layers"
  std::string shape = {};   // "K 5120, first 256 of 6144..17408 outputs"
  std::string format = {};  // weights of linears and embeddings, else empty
  bool asserted = true;
  std::vector<WidthParity> widths = {};  // ascending

  bool equal() const;
};

struct OpParityReport {
  ContractMode contract = ContractMode::kExact;
  int num_threads = 1;
  int num_seeds = 0;
  std::vector<int> widths;
  std::vector<std::string> targets;  // those that were run
  std::vector<OpParityCase> cases;
  double seconds = 0;

  bool Holds() const;  // every asserted case is equal
  int64_t comparisons() const;
  int64_t bytes() const;  // compared
};

// The steps between two finite or infinite values, +0 and -0 one step apart; kUlpOfNan if one is
// NaN.
uint64_t UlpDistance(float a, float b);

// Errors: kInvalidArgument (an unknown op, target or width), kUnsupported (a target that this
// processor lacks), those of loading the model, kResourceExhausted, kCancelled.
Expected<OpParityReport> RunOpParity(const OpParityOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_OP_PARITY_H_
