// CheckSampling: a request's sampling options against their ranges. Not the choice of a token.
#ifndef VERBATIM_ENGINE_CHECK_SAMPLING_H_
#define VERBATIM_ENGINE_CHECK_SAMPLING_H_

#include <cstdint>

#include "verbatim/sampling.h"
#include "verbatim/status.h"

namespace verbatim {

// kInvalidArgument: an option out of range, by name; an id outside the vocabulary; an id that is
// biased twice.
Status CheckSampling(const SamplingOptions& options, int64_t vocab_size);

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_CHECK_SAMPLING_H_
