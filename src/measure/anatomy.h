// Anatomies out of recorded passes. Not the recording (timed_backend.h).
#ifndef VERBATIM_MEASURE_ANATOMY_H_
#define VERBATIM_MEASURE_ANATOMY_H_

#include <array>
#include <span>
#include <vector>

#include "measure/bench.h"

namespace verbatim {

// Means over the steps of one run: the target's passes, or all passes of the draft head per pass of
// the target.
struct MeanStep {
  std::array<double, kNumParts> seconds = {};
  std::array<Work, kNumParts> work = {};
  double wall_s = 0;
};

// `passes` of a decode after its first token. What the head does before the first target pass
// belongs to the prompt and is left out.
MeanStep MeanOf(std::span<const Pass> passes, bool drafter);

// One MeanStep per round.
Anatomy AnatomyOf(std::span<const MeanStep> rounds, const Peaks& peaks);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_ANATOMY_H_
