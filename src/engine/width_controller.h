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
  void AddDrafting(SpeculationKind kind, int num_drafts, double seconds);
  double StepSeconds(int num_rows) const;
  double DraftingSeconds(SpeculationKind kind, int num_drafts) const;
  bool empty() const { return step_.empty(); }  // nothing is known yet

 private:
  // Exponentially forgetting least squares of y = base + slope * x with slope >= 0, drawn to a
  // prior slope while only one x has been seen: y proportional to 1 + relative_slope * (x -
  // origin).
  class Line {
   public:
    Line(double relative_slope, double origin) : relative_slope_(relative_slope), origin_(origin) {}
    void Add(double x, double y);
    double At(double x) const;
    bool empty() const { return weight_ == 0; }

   private:
    double relative_slope_, origin_;
    double weight_ = 0, sum_x_ = 0, sum_y_ = 0, sum_xx_ = 0, sum_xy_ = 0;
  };
  // A further row costs 3 % of a step where weights come from memory and 50 % where they sit in the
  // cache.
  Line step_{0.25, 1};
  // No drafts still cost one pass of the head over the accepted rows, about as much as one draft.
  std::array<Line, kNumSpeculationKinds> drafting_ = {Line{1, 0}, Line{1, 0}, Line{1, 0},
                                                      Line{1, 0}, Line{1, 0}};
};

// One sequence's acceptance by position and the width that it makes best.
class WidthController {
 public:
  // The drafts to ask for, 0 to max_drafts, in steps that also hold `other_rows` of other
  // sequences.
  int ChooseDrafts(const StepCosts& costs, SpeculationKind kind, int other_rows, int max_drafts);
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
