// The scalar reference of the elementwise ops (numerics.md 8): gated MLP middle, softcap.
#ifndef VERBATIM_NUMERICS_REFERENCE_ELEMENTWISE_H_
#define VERBATIM_NUMERICS_REFERENCE_ELEMENTWISE_H_

#include <cstdint>

namespace verbatim::reference {

// y = silu(gate) * up, all [n]. y may alias gate or up.
void SiluMul(const float* gate, const float* up, int64_t n, float* y);

// y = cap * tanh(x / cap), [n]. y may alias x.
void Softcap(const float* x, int64_t n, float cap, float* y);

}  // namespace verbatim::reference

#endif  // VERBATIM_NUMERICS_REFERENCE_ELEMENTWISE_H_
