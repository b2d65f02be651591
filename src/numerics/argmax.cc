// Plain scans over one row of logits.
#include "numerics/argmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "numerics/elementary.h"

namespace verbatim::numerics {

bool ContainsNan(std::span<const float> values) {
  // No early exit, so that the compiler may use vectors; rows without NaN are the rule.
  bool found = false;
  for (const float value : values) found |= value != value;
  return found;
}

int32_t Argmax(std::span<const float> values) {
  int32_t best = 0;
  float best_value = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > best_value) {
      best_value = values[i];
      best = static_cast<int32_t>(i);
    }
  }
  return best;
}

float TopTwoGap(std::span<const float> values) {
  float first = -std::numeric_limits<float>::infinity();
  float second = first;
  for (const float value : values) {
    if (value > first) {
      second = first;
      first = value;
    } else if (value > second) {
      second = value;
    }
  }
  return first - second;
}

float LogProbability(std::span<const float> logits, int32_t id) {
  constexpr size_t kLanes = 64;
  const float max = logits[Argmax(logits)];
  std::array<float, kLanes> lanes{};
  for (size_t i = 0; i < logits.size(); ++i) lanes[i % kLanes] += elementary::Exp(logits[i] - max);
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return (logits[id] - max) - elementary::Log(lanes[0]);
}

}  // namespace verbatim::numerics
