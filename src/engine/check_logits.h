// CheckLogits: a NaN logit fails the request it belongs to, and no other (numerics.md 9). Not the
// choice of a token.
#ifndef VERBATIM_ENGINE_CHECK_LOGITS_H_
#define VERBATIM_ENGINE_CHECK_LOGITS_H_

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "numerics/argmax.h"
#include "verbatim/status.h"

namespace verbatim {

// `what` and `index` name the row in the error, as in "output token 3". kInternal: the row has a
// NaN.
inline Status NanError(std::string_view what, int64_t index) {
  return MakeError(StatusCode::kInternal, fmt::format("logits of {} {}", what, index), "numbers",
                   "NaN", "verbatim inspect on the checkpoint");
}
inline Status CheckLogits(std::span<const float> logits, std::string_view what, int64_t index) {
  return numerics::ContainsNan(logits) ? NanError(what, index) : Status();
}

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_CHECK_LOGITS_H_
