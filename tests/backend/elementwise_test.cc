// silu_mul equals the reference bit for bit on every target.
#include "numerics/reference/elementwise.h"

#include <vector>

#include "tests/backend/state_op_test_util.h"

namespace verbatim::cpu {
namespace {

void TestSiluMul(int rows, int width, Inputs inputs) {
  Random random(rows * 1000 + width);
  const size_t size = size_t(rows) * width;
  const std::vector<float> gate = random.Values(size, inputs);
  const std::vector<float> up = random.Values(size, inputs);
  std::vector<float> expected(size);
  reference::SiluMul(gate.data(), up.data(), size, expected.data());
  for (const Target target : TestTargets()) {
    const KernelTable table = StateOpTable(target);
    for (const RunPlan& plan : kRunPlans) {
      std::vector<float> out(size);
      RunOp(table.silu_mul, {gate.data(), up.data(), rows, width, out.data()}, {}, plan);
      ASSERT_TRUE(SameBits(expected, out)) << TargetName(target) << " rows " << rows;
    }
    std::vector<float> over_gate = gate;
    RunOp(table.silu_mul, {over_gate.data(), up.data(), rows, width, over_gate.data()}, {}, {});
    ASSERT_TRUE(SameBits(expected, over_gate));
    std::vector<float> over_up = up;
    RunOp(table.silu_mul, {gate.data(), over_up.data(), rows, width, over_up.data()}, {}, {});
    ASSERT_TRUE(SameBits(expected, over_up));
  }
}

TEST(SiluMul, EqualsReferenceAtEveryRowCount) {
  for (const int rows : AllRowCounts()) TestSiluMul(rows, 37, Inputs::kOrdinary);
}

TEST(SiluMul, EqualsReferenceAcrossItems) {
  for (const int width : {1, 15, 16, 1023, 1024, 1025, 17408}) {
    TestSiluMul(1, width, Inputs::kOrdinary);
  }
}

TEST(SiluMul, EqualsReferenceOnHostileInputs) {
  for (const Inputs inputs : kAllInputs) TestSiluMul(3, 2049, inputs);
}

}  // namespace
}  // namespace verbatim::cpu
