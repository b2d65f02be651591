// The scalar reference of the elementwise ops; see elementwise.h.
#include "numerics/reference/elementwise.h"

#include "numerics/elementary.h"

namespace verbatim::reference {

void SiluMul(const float* gate, const float* up, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = Silu(gate[i]) * up[i];
}

void Softcap(const float* x, int64_t n, float cap, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = cap * Tanh(x[i] / cap);
}

}  // namespace verbatim::reference
