// RunProbe: whether blocks of rows have the bytes of single rows, on the loaded weights and this
// machine, within a time that a start can afford. The whole check is `verbatim parity`.
//
// 1. Each distinct matrix (format and shape): three random inputs of different magnitudes at every
//    width up to a block's, and one at the largest step; the first outputs of large matrices.
// 2. best_logits on random rows.
// 3. A walk: a chain of single tokens, and the same tokens as blocks of every width with accepted
//    and rejected drafts; every output of every op compared, and the recurrent states.
// 4. The dispatch record: both arms must have taken the same code, order and split for every call,
//    so that inputs on which two kernels happen to agree can't pass.
#ifndef VERBATIM_ENGINE_PROBE_H_
#define VERBATIM_ENGINE_PROBE_H_

#include <cstdint>

#include "backend/observe/tracing_backend.h"
#include "model/model.h"
#include "verbatim/contract.h"

namespace verbatim {

// Slots and rope positions that the probe uses, at most: a prompt and a chain of less than twice
// the largest block.
inline constexpr int kProbePositions = 128;

struct ProbeOptions {
  int max_block_rows = 16;  // of a block
  int max_step_rows = 256;  // of any step
  double budget_ms = 300;   // chooses how many layers and widths the walk takes
  uint64_t seed = 1;
};

// `backend` is the model's. The caches have room for one sequence of kProbePositions, and the
// model for max_step_rows.
ProbeReport RunProbe(TracingBackend& backend, Model& model, const Caches& caches,
                     const ProbeOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_PROBE_H_
