// Expected tokens per second for every width, the best one taken.
#include "engine/width_controller.h"

#include <algorithm>

namespace verbatim {
namespace {

// About the last 30 steps count: long enough to average noise, short enough to follow the text and
// the machine.
constexpr double kKeep = 1.0 - 1.0 / 30;
// Without a look at drafts now and then, a width of 0 would never learn that the text has become
// predictable.
constexpr int64_t kProbeEveryRounds = 32;

}  // namespace

void StepCosts::Line::Add(double x, double y) {
  weight_ = weight_ * kKeep + 1;
  sum_x_ = sum_x_ * kKeep + x;
  sum_y_ = sum_y_ * kKeep + y;
  sum_xx_ = sum_xx_ * kKeep + x * x;
  sum_xy_ = sum_xy_ * kKeep + x * y;
}

double StepCosts::Line::At(double x) const {
  if (weight_ == 0) return 0;
  const double mean_x = sum_x_ / weight_;
  const double mean_y = sum_y_ / weight_;
  const double variance = sum_xx_ / weight_ - mean_x * mean_x;
  // With one x only there is no slope to see: take the cost as flat, which is what a memory-bound
  // step is.
  const double slope =
      variance < 1e-6 ? 0 : std::max(0.0, (sum_xy_ / weight_ - mean_x * mean_y) / variance);
  return std::max(0.0, mean_y + slope * (x - mean_x));
}

void StepCosts::AddStep(int num_rows, double seconds) { step_.Add(num_rows, seconds); }
void StepCosts::AddDrafting(int num_drafts, double seconds) { drafting_.Add(num_drafts, seconds); }
double StepCosts::StepSeconds(int num_rows) const { return step_.At(num_rows); }
double StepCosts::DraftingSeconds(int num_drafts) const { return drafting_.At(num_drafts); }

int WidthController::ChooseDrafts(const StepCosts& costs, int max_drafts) {
  int best_drafts = 0;
  double best_rate = -1;
  double tokens = 1;  // expected tokens of a round: the bonus token and the leading right drafts
  double all_right = 1;
  for (int drafts = 0; drafts <= max_drafts; ++drafts) {
    if (drafts > 0) {
      all_right *= acceptance_[drafts - 1].right / acceptance_[drafts - 1].tested;
      tokens += all_right;
    }
    const double seconds = costs.StepSeconds(drafts + 1) + costs.DraftingSeconds(drafts);
    const double rate = seconds > 0 ? tokens / seconds : tokens;
    if (rate > best_rate) {
      best_rate = rate;
      best_drafts = drafts;
    }
  }
  if (++rounds_ % kProbeEveryRounds == 0) best_drafts = std::max(best_drafts, 1);
  return std::min(best_drafts, max_drafts);
}

void WidthController::AddRound(int tested, int accepted) {
  for (int k = 0; k < tested; ++k) {
    acceptance_[k].right = acceptance_[k].right * kKeep + (k < accepted ? 1 : 0);
    acceptance_[k].tested = acceptance_[k].tested * kKeep + 1;
  }
}

}  // namespace verbatim
