// The octave of a binary32 number is its exponent.
#include "measure/gap_histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace verbatim {

double GapHistogram::LowerEdge(size_t bin) {
  return bin == 0 ? 0 : std::ldexp(1.0, kLowest + static_cast<int>(bin) - 1);
}

void GapHistogram::Add(float gap) {
  if (!(gap > 0)) {
    ++counts_[0];
    return;
  }
  const int octave = std::isinf(gap) ? kHighest : std::ilogb(gap);
  ++counts_[1 + static_cast<size_t>(std::clamp(octave, kLowest, kHighest - 1) - kLowest)];
}

int64_t GapHistogram::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
}

}  // namespace verbatim
