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

int Settle(WidthController& controller, const StepCosts& costs, int right_of_each) {
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
  WidthController controller;
  EXPECT_GE(Settle(controller, Machine(0.02, 0.02), 15), 12);
}

TEST(WidthController, WrongDraftsSwitchSpeculationOff) {
  WidthController controller;
  EXPECT_EQ(Settle(controller, Machine(0.1, 0.1), 0), 0);
}

TEST(WidthController, DearRowsGiveNarrowBlocks) {
  WidthController controller;
  EXPECT_EQ(Settle(controller, Machine(1.0, 0.5), 15), 0);
}

TEST(WidthController, StopsWhereAcceptanceStops) {
  WidthController controller;
  EXPECT_EQ(Settle(controller, Machine(0.1, 0.05), 3), 3);
}

TEST(WidthController, NeverAsksForMoreThanAllowed) {
  WidthController controller;
  const StepCosts costs = Machine(0.01, 0.01);
  for (int round = 0; round < 100; ++round)
    EXPECT_LE(controller.ChooseDrafts(costs, kMtp, 0, 2), 2);
  for (int round = 0; round < 100; ++round)
    EXPECT_EQ(controller.ChooseDrafts(costs, kMtp, 0, 0), 0);
}

TEST(WidthController, LooksAgainAfterSwitchingOff) {
  WidthController controller;
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
    WidthController controller;
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
  WidthController controller;
  EXPECT_EQ(controller.ChooseDrafts(Machine(1.0, 0.1), kMtp, 12, 8), 0);
  EXPECT_GE(controller.ChooseDrafts(Machine(0.01, 0.01), kMtp, 12, 8), 4);
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
