// BreakingBackend: a backend one of whose ops takes another kernel for blocks than for single rows,
// so that tests can see parity tools and the probe catch it. Only in tests and in
// `verbatim_breakable`.
#ifndef VERBATIM_TESTS_SUPPORT_BREAKING_BACKEND_H_
#define VERBATIM_TESTS_SUPPORT_BREAKING_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/create_backend.h"
#include "backend/observe/forwarding_backend.h"

namespace verbatim::testing {

// Where the other kernel is taken, and where its bytes differ.
enum class BreakWhere : uint8_t {
  kBlocks,     // every block; about every second output differs in its last bit
  kNinthRow,   // from the ninth row of a block on
  kOddGroups,  // linears with an odd number of groups, other ops with an odd number of 16 outputs
  kRare,       // one output in a thousand
  kSizes,      // rows with an input or output beyond 1e6, which tests of ordinary size don't meet
  kPositions,  // one position in a thousand
};

struct BreakSpec {
  ops::Op op = ops::Op::kLinear;
  BreakWhere where = BreakWhere::kBlocks;
  // The dispatch record shows the usual kernel, so that bytes alone can tell.
  bool silent = false;
};

// "<op>[:blocks|ninth-row|odd-groups|rare|sizes|positions][:silent]", as VERBATIM_BREAK gives it.
// kInvalidArgument: anything else.
Expected<BreakSpec> ParseBreak(std::string_view text);

BackendWrapper BreakWith(const BreakSpec& spec);

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_SUPPORT_BREAKING_BACKEND_H_
