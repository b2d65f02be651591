// Argmax and what surrounds it: the greedy half of numerics.md section 9. Not sampling.
#ifndef VERBATIM_NUMERICS_ARGMAX_H_
#define VERBATIM_NUMERICS_ARGMAX_H_

#include <cstdint>
#include <span>

namespace verbatim::numerics {

bool ContainsNan(std::span<const float> values);

// The lowest index of the largest value; -0 equals +0. NaNs never win; 0 for an all-NaN row. Not
// empty.
int32_t Argmax(std::span<const float> values);

// The largest value minus the second largest (0 for an exact tie). At least two values, no NaN.
float TopTwoGap(std::span<const float> values);

// logprob of one id: (l_id - max) - log(Z), Z the sum of exp(l_i - max) over section 4's 64 lanes
// by id.
float LogProbability(std::span<const float> logits, int32_t id);

}  // namespace verbatim::numerics

#endif  // VERBATIM_NUMERICS_ARGMAX_H_
