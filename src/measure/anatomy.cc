// Sums over passes, medians over rounds.
#include "measure/anatomy.h"

#include <algorithm>
#include <numeric>

namespace verbatim {

MeanStep MeanOf(std::span<const Pass> passes, bool drafter) {
  const auto first = std::ranges::find_if(passes, [](const Pass& pass) { return !pass.drafter; });
  MeanStep mean;
  double steps = 0;
  for (const Pass& pass : std::span(first, passes.end())) {
    if (!pass.drafter) ++steps;
    if (pass.drafter != drafter) continue;
    for (size_t part = 0; part < kNumParts; ++part) {
      mean.seconds[part] += pass.seconds[part];
      mean.work[part] += pass.work[part];
    }
    mean.wall_s += pass.wall_s;
  }
  if (steps == 0) return {};
  const auto divide = [steps](Work& work) {
    work.bytes /= steps;
    for (double& dots : work.dots) dots /= steps;
    work.lane_ops /= steps;
  };
  for (double& part : mean.seconds) part /= steps;
  std::ranges::for_each(mean.work, divide);
  mean.wall_s /= steps;
  return mean;
}

Anatomy AnatomyOf(std::span<const MeanStep> rounds, const Peaks& peaks) {
  Anatomy anatomy;
  std::vector<double> wall;
  std::vector<double> outside;
  std::vector<double> share;
  for (const MeanStep& step : rounds) {
    const double inside = std::accumulate(step.seconds.begin(), step.seconds.end(), 0.0);
    wall.push_back(1000 * step.wall_s);
    outside.push_back(1000 * (step.wall_s - inside));
    share.push_back(step.wall_s > 0 ? (step.wall_s - inside) / step.wall_s : 0);
  }
  anatomy.wall_ms = Summarize(wall);
  anatomy.outside_ms = Summarize(outside);
  anatomy.outside_share = Summarize(share);
  std::vector<double> matrices(rounds.size(), 0);
  Work matrix_work;
  for (size_t part = 0; part < kNumParts; ++part) {
    const Work& work = rounds.front().work[part];
    if (LimitOf(work, peaks).seconds() == 0) continue;
    matrix_work += work;
    for (size_t i = 0; i < rounds.size(); ++i) matrices[i] += 1000 * rounds[i].seconds[part];
  }
  anatomy.matrices = {
      .ms = Summarize(matrices), .work = matrix_work, .limit = LimitOf(matrix_work, peaks)};
  for (size_t part = 0; part < kNumParts; ++part) {
    std::vector<double> ms;
    for (const MeanStep& step : rounds) ms.push_back(1000 * step.seconds[part]);
    const Summary summary = Summarize(ms);
    if (summary.median == 0) continue;
    const Work& work = rounds.front().work[part];
    anatomy.parts.push_back(
        {.part = static_cast<Part>(part),
         .timed = {.ms = summary, .work = work, .limit = LimitOf(work, peaks)}});
  }
  return anatomy;
}

}  // namespace verbatim
