// Plain order statistics.
#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace verbatim {

double Quantile(std::span<const double> sorted, double p) {
  VERBATIM_CHECK(!sorted.empty());
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Summary Summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {.median = Quantile(values, 0.5),
          .low = Quantile(values, 0.25),
          .high = Quantile(values, 0.75),
          .count = static_cast<int>(values.size())};
}

Expected<std::vector<std::vector<double>>> RunInterleaved(
    std::span<const Arm> arms, int rounds,
    const std::function<void(double fraction, const std::string& what)>& progress) {
  std::vector<std::vector<double>> samples(arms.size());
  const double total = static_cast<double>(arms.size()) * rounds;
  double done = 0;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < arms.size(); ++i) {
      const size_t arm = round % 2 == 0 ? i : arms.size() - 1 - i;
      if (progress) progress(done++ / total, arms[arm].name);
      VERBATIM_ASSIGN_OR_RETURN(const double value, arms[arm].run());
      samples[arm].push_back(value);
    }
  }
  return samples;
}

}  // namespace verbatim
