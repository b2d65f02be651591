// Choosing the block width from measured acceptance and measured cost. Changes speed only, never
// output. Times come in as seconds from the caller, so that tests need no clock.
#ifndef VERBATIM_ENGINE_WIDTH_CONTROLLER_H_
#define VERBATIM_ENGINE_WIDTH_CONTROLLER_H_

#include <array>
#include <cstdint>
#include <span>

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

// How often drafts were right, by position in the block, as counts that forget.
class Acceptance {
 public:
  Acceptance() = default;
  // Starts from what others had, but soon follows the sequence's own text.
  static Acceptance LikeThat(const Acceptance& others);

  // A round compared `tested` drafts, of which the first `accepted` were right.
  void AddRound(int tested, int accepted);
  // Of a round with that many drafts: the bonus token and the leading right drafts.
  double ExpectedTokens(int num_drafts) const;

 private:
  // P(draft k right | drafts before it right); starts at 3 of 4.
  struct Count {
    double right = 3;
    double tested = 4;
  };
  std::array<Count, kMaxDraftTokens> counts_;
};

// A sequence whose width is to be chosen.
struct WidthCandidate {
  const Acceptance* acceptance = nullptr;
  int most_drafts = 0;  // within its own limits
};

// The width of a batch's blocks. One for each number of sequences that run together, since cost
// and worth of a row depend on it.
class WidthController {
 public:
  // The drafts to ask all candidates for, each within its limit, in steps that also hold
  // `other_rows` rows of other sequences.
  int ChooseDrafts(const StepCosts& costs, SpeculationKind kind,
                   std::span<const WidthCandidate> candidates, int other_rows);

  // Whether drafting has made the batch slower than classic decode for some time, the head's own
  // pass included: then who begins had better do without.
  bool gave_up() const { return rounds_without_gain_ >= kRoundsToGiveUp; }
  // Of sequences that could draft: whether the next one should, to see whether it pays again. All
  // of a batch wait for one that drafts, so that a large batch looks less often.
  bool LooksAgain(size_t num_sequences) {
    return ++num_starts_ % (kLookEvery * static_cast<int64_t>(num_sequences)) == 0;
  }

 private:
  static constexpr int kRoundsToGiveUp = 24;
  static constexpr int64_t kLookEvery = 16;

  int64_t rounds_ = 0;
  int64_t num_starts_ = 0;
  int rounds_without_gain_ = 0;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_WIDTH_CONTROLLER_H_
