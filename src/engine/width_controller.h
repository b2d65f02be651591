// Choosing the block width from measured acceptance and measured cost. Changes speed only, never
// output. Times come in as seconds from the caller, so that tests need no clock.
#ifndef VERBATIM_ENGINE_WIDTH_CONTROLLER_H_
#define VERBATIM_ENGINE_WIDTH_CONTROLLER_H_

#include <array>
#include <cstdint>

#include "verbatim/request.h"

namespace verbatim {

// What a decode step costs: seconds as a line over rows (target) and over drafts (drafter), fitted
// to recent steps.
class StepCosts {
 public:
  void AddStep(int num_rows, double seconds);
  void AddDrafting(int num_drafts, double seconds);
  double StepSeconds(int num_rows) const;
  double DraftingSeconds(int num_drafts) const;

 private:
  // Exponentially forgetting least squares of y = base + slope * x, with slope >= 0.
  class Line {
   public:
    void Add(double x, double y);
    double At(double x) const;

   private:
    double weight_ = 0, sum_x_ = 0, sum_y_ = 0, sum_xx_ = 0, sum_xy_ = 0;
  };
  Line step_;
  Line drafting_;
};

// One sequence's acceptance by position and the width that it makes best.
class WidthController {
 public:
  // The drafts to ask for, 0 to max_drafts.
  int ChooseDrafts(const StepCosts& costs, int max_drafts);
  // A round compared `tested` drafts, of which the first `accepted` were right.
  void AddRound(int tested, int accepted);

 private:
  // P(draft k right | drafts before it right), as counts that forget; starts at 3 of 4 right.
  struct Acceptance {
    double right = 3;
    double tested = 4;
  };
  std::array<Acceptance, kMaxDraftTokens> acceptance_;
  int64_t rounds_ = 0;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_WIDTH_CONTROLLER_H_
