// The segments of a linear's K axis: they tile the groups, and the tree of their sums is the pinned
// one.
#include "numerics/segments.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

TEST(Segments, TileTheGroupsInOrder) {
  for (int64_t groups : {0, 1, 3, 7, 8, 9, 32, 80, 97}) {
    EXPECT_EQ(SegmentBegin(groups, 0), 0);
    EXPECT_EQ(SegmentBegin(groups, kSegments), groups);
    for (int s = 0; s < kSegments; ++s) {
      const int64_t size = SegmentBegin(groups, s + 1) - SegmentBegin(groups, s);
      EXPECT_GE(size, groups / kSegments);
      EXPECT_LE(size, groups / kSegments + 1);
    }
  }
}

TEST(Segments, ThreeGroupsLeaveTheRightOnesEmpty) {
  // floor(3 s / 8) = 0 0 0 1 1 1 2 2 3: segments 2, 5 and 7 own a group.
  for (int s = 0; s < kSegments; ++s) {
    const bool owns = s == 2 || s == 5 || s == 7;
    EXPECT_EQ(SegmentBegin(3, s + 1) - SegmentBegin(3, s), owns ? 1 : 0) << s;
  }
}

TEST(Segments, DenseGroupsRoundUp) {
  EXPECT_EQ(DenseGroups(1), 1);
  EXPECT_EQ(DenseGroups(32), 1);
  EXPECT_EQ(DenseGroups(33), 2);
}

TEST(Segments, CombineIsThePairwiseTree) {
  // 2^24 + 1 rounds to 2^24, so each order gives another sum.
  constexpr float kBig = 0x1p24f;
  constexpr float kSums[kSegments] = {kBig, 1, 1, -kBig, 1, kBig, -kBig, 1};
  // (2^24 + (1 - 2^24)) + ((1 + 2^24) + (1 - 2^24)) = 1 + (2^24 - (2^24 - 1)) = 1 + 1
  static_assert(CombineSegments(kSums) == 2.0f);
  float chain = 0;
  for (float s : kSums) chain += s;
  EXPECT_NE(chain, CombineSegments(kSums));
}

}  // namespace
}  // namespace verbatim
