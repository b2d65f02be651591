// The choice of a token, literally as numerics.md section 9 states it. Slow on purpose; what the
// sampler must equal bit for bit. Shares no code with it.
#ifndef VERBATIM_NUMERICS_REFERENCE_SELECT_H_
#define VERBATIM_NUMERICS_REFERENCE_SELECT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "verbatim/sampling.h"

namespace verbatim::reference {

struct SelectInput {
  std::span<const float> logits;           // [V], no NaN
  int64_t num_choosable = 0;               // ids from here on are never chosen
  std::span<const int32_t> prompt;         // token ids
  std::span<const int32_t> output;         // token ids chosen so far
  std::span<const int32_t> eos_ids;        // banned until min_tokens
  std::span<const int32_t> banned_ids;     // beyond the options' own
  std::span<const uint32_t> allowed = {};  // a bit an id, as in sampler.h; empty: all
};

struct SelectOutput {
  int32_t token = -1;           // -1: nothing was left to choose
  TokenLogprobs logprobs = {};  // as options.logprobs asks
};

SelectOutput Select(const SelectInput& input, const SamplingOptions& options);

// The probability of each id [V] that Select draws from, in binary64, for tests of distributions.
std::vector<double> Probabilities(const SelectInput& input, const SamplingOptions& options);

}  // namespace verbatim::reference

#endif  // VERBATIM_NUMERICS_REFERENCE_SELECT_H_
