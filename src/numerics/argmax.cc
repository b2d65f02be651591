// Plain scans over one row of logits.
#include "numerics/argmax.h"

#include <algorithm>
#include <limits>

#include "numerics/log_softmax.h"

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
  return LogSoftmax::Of(logits).LogProbability(logits[id]);
}

}  // namespace verbatim::numerics
