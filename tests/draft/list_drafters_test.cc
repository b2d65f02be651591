// The drafters that work on token lists.
#include "draft/list_drafters.h"

#include <gtest/gtest.h>

#include <vector>

namespace verbatim {
namespace {

std::vector<int32_t> Drafts(Drafter& drafter, const std::vector<int32_t>& tokens, int max_drafts,
                            int64_t prompt_size = 0, const std::vector<int32_t>& replay = {}) {
  std::vector<int32_t> drafts(16);
  DraftJob job = {.tokens = tokens,
                  .prompt_size = prompt_size,
                  .replay = replay,
                  .max_drafts = max_drafts,
                  .drafts = drafts.data()};
  drafter.Propose({&job, 1}, nullptr);
  drafts.resize(job.num_drafts);
  return drafts;
}

TEST(NgramDrafter, ProposesWhatFollowedTheLongestMatch) {
  NgramDrafter drafter;
  // "2 3" came first with 9 behind it, "1 2 3" with 4 5.
  EXPECT_EQ(Drafts(drafter, {1, 2, 3, 4, 5, 2, 3, 9, 1, 2, 3}, 2), (std::vector<int32_t>{4, 5}));
}

TEST(NgramDrafter, TakesTheMostRecentOfEqualMatches) {
  NgramDrafter drafter;
  EXPECT_EQ(Drafts(drafter, {7, 1, 7, 2, 7}, 1), (std::vector<int32_t>{2}));
}

TEST(NgramDrafter, MayRunIntoTheEndOfTheText) {
  NgramDrafter drafter;
  EXPECT_EQ(Drafts(drafter, {5, 6, 5}, 9), (std::vector<int32_t>{6, 5}));
}

TEST(NgramDrafter, ProposesNothingWithoutAMatchOrARequest) {
  NgramDrafter drafter;
  EXPECT_TRUE(Drafts(drafter, {1, 2, 3}, 4).empty());
  EXPECT_TRUE(Drafts(drafter, {1}, 4).empty());
  EXPECT_TRUE(Drafts(drafter, {1, 1}, 0).empty());
}

TEST(ReplayDrafter, IndexesByOutputPosition) {
  ReplayDrafter drafter;
  const std::vector<int32_t> replay = {10, 11, 12, 13};
  EXPECT_EQ(Drafts(drafter, {1, 2, 10}, 2, 2, replay), (std::vector<int32_t>{11, 12}));
  EXPECT_EQ(Drafts(drafter, {1, 2, 10, 11, 12}, 5, 2, replay), (std::vector<int32_t>{13}));
  EXPECT_TRUE(Drafts(drafter, {1, 2, 3, 4, 5, 6, 7}, 5, 2, replay).empty());
}

TEST(WrongDrafter, IsNeverATokenId) {
  WrongDrafter drafter;
  EXPECT_EQ(Drafts(drafter, {1, 2}, 3), std::vector<int32_t>(3, kImpossibleToken));
  EXPECT_LT(kImpossibleToken, 0);
}

}  // namespace
}  // namespace verbatim
