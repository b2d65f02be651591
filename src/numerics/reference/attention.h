// The scalar reference of softmax attention for one query head (numerics.md 5). Never fast; knows
// no pages and no cache types.
#ifndef VERBATIM_NUMERICS_REFERENCE_ATTENTION_H_
#define VERBATIM_NUMERICS_REFERENCE_ATTENTION_H_

#include <cstdint>

namespace verbatim::reference {

// Slots are cut into chunks of this many by absolute slot number.
inline constexpr int64_t kAttentionChunk = 256;

struct AttentionHead {
  const float* q = nullptr;     // [d]
  const float* k = nullptr;     // [slots][d], already rounded to the cache's type
  const float* v = nullptr;     // [slots][d], already rounded to the cache's type
  const float* gate = nullptr;  // [d] or null: out = o * sigmoid(gate)
  int d = 0;                    // a multiple of 4
  int64_t first_slot = 0;       // first visible slot
  int64_t last_slot = 0;        // last visible slot, inclusive
  float scale = 0;              // d^-0.5, computed in binary64 and rounded once
};

// out [d]. Slots outside [first_slot, last_slot] are not read. A NaN score makes all of out NaN.
void Attention(const AttentionHead& head, float* out);

}  // namespace verbatim::reference

#endif  // VERBATIM_NUMERICS_REFERENCE_ATTENTION_H_
