// GatedDeltaScratch: what conv_and_gated_delta keeps between its phases, and where a sequence's
// records lie in its state slot. Not the arithmetic.
#ifndef VERBATIM_BACKEND_CPU_GATED_DELTA_SCRATCH_H_
#define VERBATIM_BACKEND_CPU_GATED_DELTA_SCRATCH_H_

#include <cstddef>
#include <cstdint>

#include "ops/recurrent_layout.h"
#include "ops/step.h"

namespace verbatim::cpu {

// Results of the first phase, row by row.
struct GatedDeltaScratch {
  float* qkv = nullptr;    // [M, conv_dim]: qhat, khat, v after convolution, silu and L2 norm
  float* beta = nullptr;   // [M, Hv]
  float* decay = nullptr;  // [M, Hv]: e

  static size_t Floats(const ops::RecurrentLayout& layout, int64_t max_rows) {
    return max_rows * (layout.conv_dim() + 2 * size_t(layout.num_value_heads));
  }
  GatedDeltaScratch(const ops::RecurrentLayout& layout, int64_t num_rows, std::byte* memory)
      : qkv(reinterpret_cast<float*>(memory)),
        beta(qkv + num_rows * layout.conv_dim()),
        decay(beta + num_rows * layout.num_value_heads) {}
};

// One sequence's state slot by its parts (ops/recurrent_layout.h).
struct RecurrentSlot {
  const ops::RecurrentLayout& layout;
  float* base;

  RecurrentSlot(const ops::RecurrentView& view, int slot)
      : layout(view.layout), base(view.slots + slot * view.layout.slot_floats()) {}
  float* Tile(int head, int tile) const {
    return base + layout.StateOffset(head, 0, tile * ops::kValueTile);
  }
  float* ConvRow(int i) const { return base + layout.conv_offset() + i * layout.conv_dim(); }
  float* KeyRecord(int draft) const {
    return base + layout.key_records_offset() + draft * layout.key_dim();
  }
  float* DeltaRecord(int draft) const {
    return base + layout.delta_records_offset() + draft * layout.value_dim();
  }
  float* DecayRecord(int draft) const {
    return base + layout.decay_records_offset() + draft * size_t(layout.num_value_heads);
  }
  float* ConvRecord(int draft) const {
    return base + layout.conv_records_offset() + draft * layout.conv_dim();
  }
  // Input row `i` of the convolution before the step's first: i in [0, 3), oldest first, after the
  // accepted drafts.
  const float* History(int num_accepted, int i) const {
    constexpr int kRows = ops::kConvTaps - 1;
    const int row = num_accepted + i;
    return row < kRows ? ConvRow(row) : ConvRecord(row - kRows);
  }
};

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_GATED_DELTA_SCRATCH_H_
