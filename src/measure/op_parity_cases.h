// The cases of RunOpParity: which ops at which shapes, and how each is run. Internal to
// measure/op_parity*.
#ifndef VERBATIM_MEASURE_OP_PARITY_CASES_H_
#define VERBATIM_MEASURE_OP_PARITY_CASES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/weights.h"
#include "measure/op_parity_arms.h"
#include "measure/op_parity_shapes.h"

namespace verbatim::parity {

// How much of a case a target can do in its share of the time. Slices keep whole sums: all of K, a
// group of query heads, whole heads.
struct Budget {
  int64_t linear_products = 0;  // K * outputs, at least 16 outputs
  int max_kv_heads = 0;         // with their query heads
  int max_key_heads = 0;        // with their value heads
  int64_t max_logits = 0;       // of a row
};
// scalar code does about 1 product a ns and thread, AVX2 20, AVX-512 40 and more.
Budget BudgetOf(std::string_view target);

struct Case {
  OpParityCase description;   // without target and widths
  ops::WorkspaceNeeds needs;  // without max_rows
  std::function<Status(CaseRun&)> run;
};

// Those of one model and the backend's ops; `wanted(op)` says which.
using Wanted = std::function<bool(std::string_view op)>;
void AddLinearCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                    std::vector<Case>& cases);
void AddRowCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                 std::vector<Case>& cases);
void AddAttentionCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                       std::vector<Case>& cases);
void AddGatedDeltaCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                        std::vector<Case>& cases);
// Those that run on the host and ask for no backend's op.
void AddHostCases(const ModelShapes& model, const Wanted& wanted, std::vector<Case>& cases);

}  // namespace verbatim::parity

#endif  // VERBATIM_MEASURE_OP_PARITY_CASES_H_
