// The counts of docs/benchmarking.md on cases small enough to count by hand.
#include "measure/work.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

constexpr WeightFormat Affine(int bits, int group, WeightType scale = WeightType::kBF16) {
  return {.type = WeightType::kAffine, .bits = bits, .group_size = group, .scale_type = scale};
}

// 16 outputs, one group of 64: T * (64/4 + 4), four operations to widen two bfloat16 vectors, and
// the unpacking of two times 32 values.
TEST(WorkTest, AffineCountsDotsFmasAndUnpacking) {
  for (const int rows : {1, 3, 16}) {
    const Work q8 = LinearWork(Affine(8, 64), 16, 64, rows, 100);
    EXPECT_EQ(q8.dots[8], rows * 16);
    EXPECT_EQ(q8.lane_ops, rows * 4 + 4);
    EXPECT_EQ(q8.bytes, 100);
    const Work q4 = LinearWork(Affine(4, 64), 16, 64, rows, 0);
    EXPECT_EQ(q4.dots[4], rows * 16);
    EXPECT_EQ(q4.dots[8], 0);
    // 8 blocks in 4 vectors: 4 masks, and 4 times a shift and a mask; twice.
    EXPECT_EQ(q4.lane_ops, rows * 4 + 4 + 2 * (4 + 2 * 4));
  }
}

TEST(WorkTest, UnpackingCountsMasksShiftsAndOrs) {
  EXPECT_EQ(UnpackOps(8), 0);
  EXPECT_EQ(UnpackOps(4), 4 + 8);
  EXPECT_EQ(UnpackOps(2), 2 + 12);
  EXPECT_EQ(UnpackOps(3), 14 + (1 + 14) + 8);
  EXPECT_EQ(UnpackOps(5), 12 + (1 + 14) + 8);
  EXPECT_EQ(UnpackOps(6), 12 + (2 + 12) + 8);
}

TEST(WorkTest, ScalesOfOtherTypesCostTheirOwnWidening) {
  EXPECT_EQ(LinearWork(Affine(8, 64, WeightType::kF16), 16, 64, 1, 0).lane_ops, 4 + 2);
  EXPECT_EQ(LinearWork(Affine(8, 64, WeightType::kF32), 16, 64, 1, 0).lane_ops, 4);
}

TEST(WorkTest, DenseCountsTwoFmaPerPairAndRow) {
  const WeightFormat bf16{.type = WeightType::kBF16};
  const WeightFormat f32{.type = WeightType::kF32};
  EXPECT_EQ(LinearWork(bf16, 16, 64, 5, 0).lane_ops, 32 * (2 * 5 + 2));
  EXPECT_EQ(LinearWork(f32, 16, 64, 5, 0).lane_ops, 32 * 2 * 5);
  // Outputs are padded to tiles of 16, K to 32: 3 tiles, 16 pairs.
  EXPECT_EQ(LinearWork(bf16, 33, 20, 1, 0).lane_ops, 3 * 16 * 4);
}

TEST(WorkTest, LimitIsTheSlowerOfMemoryAndArithmetic) {
  Work work{.bytes = 1000};
  work.dots[4] = 30;
  work.lane_ops = 20;
  Peaks peaks{.bytes = 100, .fmas = 10};
  peaks.dots[4] = 15;
  const Limit memory = LimitOf(work, peaks);
  EXPECT_EQ(memory.memory_s, 10);
  EXPECT_EQ(memory.compute_s, 4);
  EXPECT_EQ(memory.seconds(), 10);
  EXPECT_STREQ(memory.bound(), "memory");
  work.bytes = 300;
  EXPECT_EQ(LimitOf(work, peaks).seconds(), 4);
  EXPECT_STREQ(LimitOf(work, peaks).bound(), "compute");
}

TEST(WorkTest, AddsUp) {
  Work sum = LinearWork(Affine(8, 32), 16, 32, 1, 7);
  sum += LinearWork(Affine(4, 32), 16, 32, 1, 5);
  EXPECT_EQ(sum.bytes, 12);
  EXPECT_EQ(sum.dots[8], 8);
  EXPECT_EQ(sum.dots[4], 8);
}

}  // namespace
}  // namespace verbatim
