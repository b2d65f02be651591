// The width follows acceptance and cost. Times are given, never measured.
#include "engine/width_controller.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

// A machine on which a row beyond the first costs `row` of a step and a draft costs `draft` of it.
StepCosts Machine(double row, double draft) {
  StepCosts costs;
  for (int i = 0; i < 100; ++i) {
    const int rows = 1 + i % 16;
    costs.AddStep(rows, 1 + row * (rows - 1));
    costs.AddDrafting(i % 16, draft * (i % 16));
  }
  return costs;
}

int Settle(WidthController& controller, const StepCosts& costs, int right_of_each) {
  int drafts = 0;
  for (int round = 0; round < 400; ++round) {
    const int chosen = controller.ChooseDrafts(costs, kMaxDraftTokens);
    if (round % 32 != 31) drafts = chosen;  // not the probing round
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
  for (int round = 0; round < 100; ++round) EXPECT_LE(controller.ChooseDrafts(costs, 2), 2);
  for (int round = 0; round < 100; ++round) EXPECT_EQ(controller.ChooseDrafts(costs, 0), 0);
}

TEST(WidthController, LooksAgainAfterSwitchingOff) {
  WidthController controller;
  const StepCosts costs = Machine(0.1, 0.05);
  Settle(controller, costs, 0);
  EXPECT_GT(Settle(controller, costs, 15), 5);  // the text became predictable
}

TEST(StepCosts, FitsALineAndStartsFlat) {
  StepCosts costs;
  EXPECT_EQ(costs.StepSeconds(5), 0);
  costs.AddStep(1, 2.0);
  EXPECT_DOUBLE_EQ(costs.StepSeconds(9), 2.0);
  for (int i = 0; i < 50; ++i) costs.AddStep(1 + i % 8, 2.0 + 0.5 * (i % 8));
  EXPECT_NEAR(costs.StepSeconds(16), 2.0 + 0.5 * 15, 1e-9);
}

}  // namespace
}  // namespace verbatim
