// LogSoftmax: maximum and normaliser of a row of logits, and the candidates with the largest ones.
// Not the choice of a token.
#ifndef VERBATIM_NUMERICS_LOG_SOFTMAX_H_
#define VERBATIM_NUMERICS_LOG_SOFTMAX_H_

#include <cstdint>
#include <span>
#include <vector>

namespace verbatim::numerics {

// Z of numerics.md section 9: exp(l - max) summed over section 4's 64 lanes by id.
float SumOfExponentials(std::span<const float> logits, float max);
// The same if every id but `ids`, ascending, were -infinity.
float SumOfExponentials(std::span<const float> logits, std::span<const int32_t> ids, float max);

struct LogSoftmax {
  float max = 0;
  float log_sum = 0;  // log(Z)

  // At least one value above -infinity, no NaN.
  static LogSoftmax Of(std::span<const float> logits);
  float LogProbability(float logit) const { return (logit - max) - log_sum; }
};

// A logit and its id as one number: larger for a larger logit (-0 equals +0), then for a lower id.
uint64_t CandidateKey(float logit, int32_t id);
int32_t CandidateId(uint64_t key);

// Replaces `keys` by those of the `count` best values, unordered; by all above -infinity if they
// are fewer. Allocates nothing if `keys` has room for 2 * count keys.
void GatherBest(std::span<const float> values, size_t count, std::vector<uint64_t>& keys);

}  // namespace verbatim::numerics

#endif  // VERBATIM_NUMERICS_LOG_SOFTMAX_H_
