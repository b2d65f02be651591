// rms_norm and gated_norm equal the reference bit for bit on every target.
#include "numerics/reference/norm.h"

#include <string>
#include <vector>

#include "tests/backend/state_op_test_util.h"

namespace verbatim::cpu {
namespace {

constexpr float kEps = 1e-6f;

void TestRmsNorm(int rows, int width, Inputs inputs) {
  Random random(rows * 1000 + width);
  const int64_t x_stride = width + 5;  // rows need not be contiguous
  const int64_t out_stride = width + 3;
  const std::vector<float> x = random.Values(rows * x_stride, inputs);
  const std::vector<float> w = random.Values(width);
  std::vector<float> expected(rows * out_stride, -1.0f);
  for (int r = 0; r < rows; ++r) {
    reference::RmsNorm(x.data() + r * x_stride, w.data(), width, kEps,
                       expected.data() + r * out_stride);
  }
  for (const Target target : TestTargets()) {
    const KernelTable table = StateOpTable(target);
    for (const RunPlan& plan : kRunPlans) {
      std::vector<float> out(rows * out_stride, -1.0f);  // the gaps stay
      RunOp(table.rms_norm,
            {x.data(), x_stride, w.data(), kEps, rows, width, out.data(), out_stride}, {}, plan);
      ASSERT_TRUE(SameBits(expected, out))
          << TargetName(target) << " rows " << rows << " width " << width;
    }
    std::vector<float> in_place = x;
    RunOp(table.rms_norm,
          {in_place.data(), x_stride, w.data(), kEps, rows, width, in_place.data(), x_stride}, {},
          {});
    for (int r = 0; r < rows; ++r) {
      ASSERT_TRUE(SameBits({expected.data() + r * out_stride, size_t(width)},
                           {in_place.data() + r * x_stride, size_t(width)}));
    }
  }
}

TEST(RmsNorm, EqualsReferenceAtEveryRowCount) {
  for (const int rows : AllRowCounts()) TestRmsNorm(rows, 192, Inputs::kOrdinary);
}

// Widths around the 16 lanes of a vector and the 64 of a reduction, and those of real models.
TEST(RmsNorm, EqualsReferenceAtEveryWidth) {
  for (int width = 1; width <= 140; ++width) TestRmsNorm(2, width, Inputs::kOrdinary);
  for (const int width : {255, 256, 257, 1024, 5120}) TestRmsNorm(2, width, Inputs::kOrdinary);
}

TEST(RmsNorm, EqualsReferenceOnHostileInputs) {
  for (const Inputs inputs : kAllInputs) {
    for (const int width : {1, 17, 64, 100, 192}) TestRmsNorm(40, width, inputs);
  }
}

void TestGatedNorm(int rows, int heads, int head_dim, Inputs inputs) {
  Random random(rows * 100 + head_dim);
  const size_t size = size_t(rows) * heads * head_dim;
  const std::vector<float> x = random.Values(size, inputs);
  const std::vector<float> z = random.Values(size, inputs);
  const std::vector<float> w = random.Values(head_dim);
  std::vector<float> expected(size);
  for (size_t i = 0; i < size; i += head_dim) {
    reference::GatedNorm(x.data() + i, z.data() + i, w.data(), head_dim, kEps, expected.data() + i);
  }
  for (const Target target : TestTargets()) {
    const KernelTable table = StateOpTable(target);
    for (const RunPlan& plan : kRunPlans) {
      std::vector<float> out = x;  // in place
      RunOp(table.gated_norm,
            {out.data(), z.data(), w.data(), kEps, rows, heads, head_dim, out.data()}, {}, plan);
      ASSERT_TRUE(SameBits(expected, out))
          << TargetName(target) << " rows " << rows << " head_dim " << head_dim;
    }
  }
}

TEST(GatedNorm, EqualsReferenceAtEveryRowCount) {
  for (const int rows : AllRowCounts()) TestGatedNorm(rows, 4, 32, Inputs::kOrdinary);
}

TEST(GatedNorm, EqualsReferenceOnHostileInputs) {
  for (const Inputs inputs : kAllInputs) {
    for (const int head_dim : {16, 32, 48, 100, 128}) TestGatedNorm(16, 3, head_dim, inputs);
  }
}

}  // namespace
}  // namespace verbatim::cpu
