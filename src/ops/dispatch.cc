// Names of the operations.
#include "ops/dispatch.h"

#include <array>

namespace verbatim::ops {

std::string_view OpName(Op op) {
  static constexpr std::array<std::string_view, kNumOps> kNames = {"embed",
                                                                   "rms_norm",
                                                                   "linear",
                                                                   "silu_mul",
                                                                   "rope_and_cache",
                                                                   "attention",
                                                                   "conv_and_gated_delta",
                                                                   "fold_records",
                                                                   "gated_norm",
                                                                   "best_logits"};
  return kNames[static_cast<size_t>(op)];
}

}  // namespace verbatim::ops
