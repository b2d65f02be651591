// The scalar reference of partial rope on one head (numerics.md 8). The tables are in rotary.h.
#ifndef VERBATIM_NUMERICS_REFERENCE_ROPE_H_
#define VERBATIM_NUMERICS_REFERENCE_ROPE_H_

namespace verbatim::reference {

// Half-split pairs (i, i + rotary_dim / 2) inside the first rotary_dim channels; the others pass
// through. x, y [head_dim]; cos, sin [rotary_dim / 2] of the head's position. y may alias x.
void Rope(const float* x, int head_dim, int rotary_dim, const float* cos, const float* sin,
          float* y);

}  // namespace verbatim::reference

#endif  // VERBATIM_NUMERICS_REFERENCE_ROPE_H_
