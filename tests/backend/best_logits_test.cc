// best_logits equals the plain scans on every target: ties, zeros, NaN anywhere, padding columns.
#include "ops/best_logits.h"

#include <vector>

#include "numerics/argmax.h"
#include "tests/backend/state_op_test_util.h"

namespace verbatim::cpu {
namespace {

void TestRows(int rows, int64_t vocab_size, int64_t num_choosable, Inputs inputs, bool ties) {
  Random random(rows * 1000 + static_cast<int>(vocab_size));
  std::vector<float> logits = random.Values(size_t(rows) * vocab_size, inputs);
  if (ties) {
    for (float& l : logits) l = std::floor(std::min(std::max(l, -2.0F), 2.0F));
  }
  for (const Target target : TestTargets()) {
    const KernelTable table = StateOpTable(target);
    for (const RunPlan& plan : kRunPlans) {
      std::vector<ops::BestLogit> best(rows, {.id = -7});
      RunOp(table.best_logits, {logits.data(), rows, vocab_size, num_choosable, best.data()}, {},
            plan);
      for (int row = 0; row < rows; ++row) {
        const auto all = std::span<const float>(logits).subspan(row * vocab_size, vocab_size);
        ASSERT_EQ(best[row].id, numerics::Argmax(all.first(num_choosable)))
            << TargetName(target) << " row " << row << " of " << rows << " x " << vocab_size;
        ASSERT_EQ(best[row].has_nan, numerics::ContainsNan(all)) << TargetName(target);
      }
    }
  }
}

TEST(BestLogits, EqualsTheScansAtEverySize) {
  for (const int64_t vocab_size : {1, 2, 15, 16, 17, 31, 32, 33, 2047, 2048, 2049, 10000}) {
    for (const int64_t padding : {int64_t{0}, vocab_size / 3}) {
      for (const bool ties : {false, true}) {
        TestRows(2, vocab_size, vocab_size - padding, Inputs::kOrdinary, ties);
      }
    }
  }
  for (const int rows : {1, 3, 16, 65}) TestRows(rows, 5000, 4990, Inputs::kOrdinary, true);
}

TEST(BestLogits, EqualsTheScansOnHostileInputs) {
  for (const Inputs inputs : kAllInputs) TestRows(5, 4100, 4000, inputs, false);
}

// One NaN, or one largest value, at each place of a row.
TEST(BestLogits, MissesNoPlace) {
  constexpr int64_t kVocab = 130;
  for (const Target target : TestTargets()) {
    const KernelTable table = StateOpTable(target);
    for (int64_t place = 0; place < kVocab; ++place) {
      std::vector<float> logits(kVocab, -1.0F);
      ops::BestLogit best;
      logits[place] = std::numeric_limits<float>::quiet_NaN();
      RunOp(table.best_logits, {logits.data(), 1, kVocab, 100, &best}, {}, {});
      EXPECT_TRUE(best.has_nan) << place;
      EXPECT_EQ(best.id, place == 0 ? 1 : 0);
      logits[place] = 0;
      RunOp(table.best_logits, {logits.data(), 1, kVocab, 100, &best}, {}, {});
      EXPECT_FALSE(best.has_nan) << place;
      EXPECT_EQ(best.id, place < 100 ? place : 0);
    }
  }
}

}  // namespace
}  // namespace verbatim::cpu
