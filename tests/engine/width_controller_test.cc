// The width follows acceptance and cost. Times are given, never measured.
#include "engine/width_controller.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

constexpr SpeculationKind kMtp = SpeculationKind::kMtp;

// A machine on which a row beyond the first costs `row` of a step and a draft costs `draft` of it.
StepCosts Machine(double row, double draft) {
  StepCosts costs;
  for (int i = 0; i < 100; ++i) {
    const int rows = 1 + i % 16;
    costs.AddStep(rows, 1 + row * (rows - 1));
    costs.AddDrafting(kMtp, i % 16, draft * (1 + i % 16));
  }
  return costs;
}

// One sequence and the controller of its batch.
struct Lone {
  Acceptance acceptance;
  WidthController controller;

  int ChooseDrafts(const StepCosts& costs, SpeculationKind kind, int other_rows, int most) {
    const WidthCandidate candidate = {&acceptance, most};
    return controller.ChooseDrafts(costs, kind, {&candidate, 1}, other_rows);
  }
  void AddRound(int tested, int accepted) { acceptance.AddRound(tested, accepted); }
};

int Settle(Lone& controller, const StepCosts& costs, int right_of_each) {
  int drafts = 0;
  for (int round = 0; round < 400; ++round) {
    const int chosen = controller.ChooseDrafts(costs, kMtp, 0, kMaxDraftTokens);
    if (round % 16 != 15) drafts = chosen;  // not the probing round
    const int accepted = std::min(chosen, right_of_each);
    controller.AddRound(std::min(chosen, accepted + 1), accepted);
  }
  return drafts;
}

TEST(WidthController, CheapRowsAndRightDraftsGiveWideBlocks) {
  Lone controller;
  EXPECT_GE(Settle(controller, Machine(0.02, 0.02), 15), 12);
}

TEST(WidthController, WrongDraftsSwitchSpeculationOff) {
  Lone controller;
  EXPECT_EQ(Settle(controller, Machine(0.1, 0.1), 0), 0);
}

TEST(WidthController, DearRowsGiveNarrowBlocks) {
  Lone controller;
  EXPECT_EQ(Settle(controller, Machine(1.0, 0.5), 15), 0);
}

TEST(WidthController, StopsWhereAcceptanceStops) {
  Lone controller;
  EXPECT_EQ(Settle(controller, Machine(0.1, 0.05), 3), 3);
}

TEST(WidthController, NeverAsksForMoreThanAllowed) {
  Lone controller;
  const StepCosts costs = Machine(0.01, 0.01);
  for (int round = 0; round < 100; ++round)
    EXPECT_LE(controller.ChooseDrafts(costs, kMtp, 0, 2), 2);
  for (int round = 0; round < 100; ++round)
    EXPECT_EQ(controller.ChooseDrafts(costs, kMtp, 0, 0), 0);
}

TEST(WidthController, LooksAgainAfterSwitchingOff) {
  Lone controller;
  const StepCosts costs = Machine(0.1, 0.05);
  Settle(controller, costs, 0);
  EXPECT_GT(Settle(controller, costs, 15), 5);  // the text became predictable
}

// A controller that starts with no knowledge must not settle on the first width it happened to
// measure.
TEST(WidthController, LearnsCostsFromItsOwnSteps) {
  for (const double row : {0.03, 3.0}) {
    SCOPED_TRACE(row);
    StepCosts costs;
    Lone controller;
    int drafts = -1;
    for (int round = 0; round < 300; ++round) {
      const int chosen = controller.ChooseDrafts(costs, kMtp, 0, kMaxDraftTokens);
      costs.AddStep(chosen + 1, 1 + row * chosen);
      costs.AddDrafting(kMtp, chosen, row / 2 * (chosen + 1));
      const int accepted = std::min(chosen, 8);
      controller.AddRound(std::min(chosen, accepted + 1), accepted);
      if (round % 16 != 15) drafts = chosen;
    }
    if (row < 0.1) {
      EXPECT_GE(drafts, 7);
      EXPECT_LE(drafts, 10);
    } else {
      EXPECT_EQ(drafts, 0);  // a row costs three steps
    }
  }
}

// A shared step is priced as a whole: drafts must not slow the neighbours down by more than they
// bring.
TEST(WidthController, PricesTheSharedStep) {
  Lone controller;
  EXPECT_EQ(controller.ChooseDrafts(Machine(1.0, 0.1), kMtp, 12, 8), 0);
  EXPECT_GE(controller.ChooseDrafts(Machine(0.01, 0.01), kMtp, 12, 8), 4);
}

// All of a batch have one width, within each one's limit, for which all of their tokens count.
TEST(WidthController, ChoosesForTheWholeBatch) {
  Acceptance good, bad;
  for (int i = 0; i < 100; ++i) {
    good.AddRound(8, 8);
    bad.AddRound(1, 0);
  }
  const StepCosts costs = Machine(0.2, 0.05);
  const WidthCandidate all_good[] = {{&good, 8}, {&good, 8}, {&good, 8}};
  EXPECT_EQ(WidthController().ChooseDrafts(costs, kMtp, all_good, 0), 8);
  const WidthCandidate all_bad[] = {{&bad, 8}, {&bad, 8}, {&bad, 8}};
  EXPECT_EQ(WidthController().ChooseDrafts(costs, kMtp, all_bad, 0), 0);
  const WidthCandidate short_ones[] = {{&good, 2}, {&good, 3}};
  EXPECT_EQ(WidthController().ChooseDrafts(costs, kMtp, short_ones, 0), 3);
}

TEST(WidthController, GivesUpWhereTheHeadCostsMoreThanItBringsAndLooksAgain) {
  Lone poor;
  const StepCosts dear = Machine(1.0, 0.5);
  EXPECT_FALSE(poor.controller.gave_up());
  Settle(poor, dear, 15);
  EXPECT_TRUE(poor.controller.gave_up());
  int looks = 0;
  for (int i = 0; i < 80; ++i) looks += poor.controller.LooksAgain(1) ? 1 : 0;
  EXPECT_EQ(looks, 5);
  Settle(poor, Machine(0.02, 0.02), 15);
  EXPECT_FALSE(poor.controller.gave_up());
}

TEST(Acceptance, StartsLikeOthersAndFollowsItsOwnText) {
  Acceptance others;
  for (int i = 0; i < 200; ++i) others.AddRound(1, 0);
  Acceptance own = Acceptance::LikeThat(others);
  EXPECT_LT(own.ExpectedTokens(1), 1.05);
  for (int i = 0; i < 20; ++i) own.AddRound(1, 1);
  EXPECT_GT(own.ExpectedTokens(1), 1.7);
}

// One request's drafter must not price another's.
TEST(StepCosts, KeepsDraftersApart) {
  StepCosts costs;
  costs.AddDrafting(kMtp, 3, 4.0);
  EXPECT_EQ(costs.DraftingSeconds(SpeculationKind::kNgram, 3), 0);
  EXPECT_DOUBLE_EQ(costs.DraftingSeconds(kMtp, 3), 4.0);
}

TEST(StepCosts, FitsALineAndStartsFromAPrior) {
  StepCosts costs;
  EXPECT_TRUE(costs.empty());
  costs.AddStep(1, 2.0);
  EXPECT_DOUBLE_EQ(costs.StepSeconds(1), 2.0);
  EXPECT_DOUBLE_EQ(costs.StepSeconds(5), 2.0 * (1 + 0.25 * 4));
  for (int i = 0; i < 200; ++i) costs.AddStep(1 + i % 8, 2.0 + 0.75 * (i % 8));
  EXPECT_NEAR(costs.StepSeconds(16), 2.0 + 0.75 * 15, 0.1);
}

}  // namespace
}  // namespace verbatim
