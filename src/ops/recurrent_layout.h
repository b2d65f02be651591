// RecurrentLayout: where one gated-delta layer's state of one sequence lies. Not who owns which
// state (state/).
//
// A state slot is one run of floats: S [Hv][Dv / 16][Dk][16], the last three pre-convolution rows
// [3][conv_dim] (oldest first), then the replay records of the last block's draft rows (numerics.md
// 6): normalised keys [max_drafts][Hk * Dk], value deltas d [max_drafts][Hv * Dv], decays e
// [max_drafts][Hv] (+0 where g < -44), and their pre-convolution rows [max_drafts][conv_dim].
#ifndef VERBATIM_OPS_RECURRENT_LAYOUT_H_
#define VERBATIM_OPS_RECURRENT_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace verbatim::ops {

inline constexpr int kConvTaps = 4;
inline constexpr int kValueTile = 16;  // value channels of one S tile: one lane each

struct RecurrentLayout {
  int num_key_heads = 0;    // Hk
  int num_value_heads = 0;  // Hv, a multiple of Hk
  int key_head_dim = 0;     // Dk, a multiple of 4
  int value_head_dim = 0;   // Dv, a multiple of 16
  int max_drafts = 0;

  size_t key_dim() const { return size_t(num_key_heads) * key_head_dim; }
  size_t value_dim() const { return size_t(num_value_heads) * value_head_dim; }
  size_t conv_dim() const { return 2 * key_dim() + value_dim(); }

  size_t state_floats() const { return value_dim() * key_head_dim; }
  size_t conv_offset() const { return state_floats(); }
  size_t key_records_offset() const { return conv_offset() + (kConvTaps - 1) * conv_dim(); }
  size_t delta_records_offset() const { return key_records_offset() + max_drafts * key_dim(); }
  size_t decay_records_offset() const { return delta_records_offset() + max_drafts * value_dim(); }
  size_t conv_records_offset() const {
    return decay_records_offset() + size_t(max_drafts) * num_value_heads;
  }
  // Rounded up to a cache line, so that every slot starts aligned.
  size_t slot_floats() const {
    return (conv_records_offset() + max_drafts * conv_dim() + 15) / 16 * 16;
  }

  // S[k][v] of one value head.
  size_t StateOffset(int value_head, int k, int v) const {
    return (size_t(value_head) * (value_head_dim / kValueTile) + v / kValueTile) * key_head_dim *
               kValueTile +
           size_t(k) * kValueTile + v % kValueTile;
  }
};

struct RecurrentView {
  RecurrentLayout layout;
  float* slots = nullptr;  // slot i starts at slots + i * layout.slot_floats(); device memory
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_RECURRENT_LAYOUT_H_
