// Expected tokens per second for every width, the best one taken.
#include "engine/width_controller.h"

#include <algorithm>

namespace verbatim {
namespace {

// About the last 30 steps count: long enough to average noise, short enough to follow the text and
// the machine.
constexpr double kKeep = 1.0 - 1.0 / 30;
// Every so many rounds another width is tried: a width of 0 would never learn that the text has
// become predictable, and a line through one width says nothing about the others.
constexpr int64_t kProbeEveryRounds = 16;
// Where nothing is known yet: what most models were trained to draft well.
constexpr int kFirstDrafts = 3;
// Prompts cost the head a pass of their own, and so does looking again: less gain than that is
// none.
constexpr double kLeastGain = 1.1;
// How many steps of evidence one unit of variance in x must bring to outweigh the prior slope.
constexpr double kPriorWeight = 0.5;

}  // namespace

void StepCosts::Line::Add(double x, double y) {
  weight_ = weight_ * kKeep + 1;
  sum_x_ = sum_x_ * kKeep + x;
  sum_y_ = sum_y_ * kKeep + y;
  sum_xx_ = sum_xx_ * kKeep + x * x;
  sum_xy_ = sum_xy_ * kKeep + x * y;
}

double StepCosts::Line::At(double x) const {
  if (empty()) return 0;
  const double mean_x = sum_x_ / weight_;
  const double mean_y = sum_y_ / weight_;
  const double variance = std::max(0.0, sum_xx_ - sum_x_ * mean_x);
  const double covariance = sum_xy_ - sum_x_ * mean_y;
  const double prior = relative_slope_ * mean_y / (1 + relative_slope_ * (mean_x - origin_));
  const double slope =
      std::max(0.0, (covariance + kPriorWeight * prior) / (variance + kPriorWeight));
  return std::max(0.0, mean_y + slope * (x - mean_x));
}

void StepCosts::AddStep(int num_rows, double seconds) { step_.Add(num_rows, seconds); }
void StepCosts::AddDrafting(SpeculationKind kind, int num_drafts, double seconds) {
  drafting_[static_cast<size_t>(kind)].Add(num_drafts, seconds);
}
double StepCosts::StepSeconds(int num_rows) const { return step_.At(num_rows); }
double StepCosts::DraftingSeconds(SpeculationKind kind, int num_drafts) const {
  return drafting_[static_cast<size_t>(kind)].At(num_drafts);
}

Acceptance Acceptance::LikeThat(const Acceptance& others) {
  Acceptance acceptance;
  for (size_t k = 0; k < acceptance.counts_.size(); ++k) {
    Count& count = acceptance.counts_[k];
    count.right = count.tested * others.counts_[k].right / others.counts_[k].tested;
  }
  return acceptance;
}

void Acceptance::AddRound(int tested, int accepted) {
  for (int k = 0; k < tested; ++k) {
    counts_[k].right = counts_[k].right * kKeep + (k < accepted ? 1 : 0);
    counts_[k].tested = counts_[k].tested * kKeep + 1;
  }
}

double Acceptance::ExpectedTokens(int num_drafts) const {
  double tokens = 1;
  double all_right = 1;
  for (int k = 0; k < num_drafts; ++k) {
    all_right *= counts_[k].right / counts_[k].tested;
    tokens += all_right;
  }
  return tokens;
}

int WidthController::ChooseDrafts(const StepCosts& costs, SpeculationKind kind,
                                  std::span<const WidthCandidate> candidates, int other_rows) {
  ++rounds_;
  int most_drafts = 0;
  for (const WidthCandidate& candidate : candidates) {
    most_drafts = std::max(most_drafts, candidate.most_drafts);
  }
  if (costs.empty()) return std::min(kFirstDrafts, most_drafts);
  int best_drafts = 0;
  double best_rate = -1;
  for (int drafts = 0; drafts <= most_drafts; ++drafts) {
    // Of the whole step: other sequences' rows bring about a token each and wait for these drafts.
    double tokens = other_rows;
    int rows = other_rows;
    for (const auto& [acceptance, most] : candidates) {
      tokens += acceptance->ExpectedTokens(std::min(drafts, most));
      rows += 1 + std::min(drafts, most);
    }
    const double rate = tokens / (costs.StepSeconds(rows) + costs.DraftingSeconds(kind, drafts));
    if (rate > best_rate) {
      best_rate = rate;
      best_drafts = drafts;
    }
  }
  const int classic_rows = other_rows + static_cast<int>(candidates.size());
  const double classic_rate = classic_rows / costs.StepSeconds(classic_rows);
  if (best_rate < kLeastGain * classic_rate) {
    rounds_without_gain_ = std::min(rounds_without_gain_ + 1, kRoundsToGiveUp);
  } else {
    rounds_without_gain_ = 0;
  }
  if (rounds_ % kProbeEveryRounds == 0) {
    const bool wider = rounds_ / kProbeEveryRounds % 2 == 0;
    best_drafts = wider ? best_drafts + 2 : best_drafts / 2;
    if (best_drafts == 0) best_drafts = 1;
  }
  return std::min(best_drafts, most_drafts);
}

}  // namespace verbatim
