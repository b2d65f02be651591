// The scalar reference of partial rope; see rope.h.
#include "numerics/reference/rope.h"

#include <cmath>

namespace verbatim::reference {

void Rope(const float* x, int head_dim, int rotary_dim, const float* cos, const float* sin,
          float* y) {
  const int half = rotary_dim / 2;
  for (int i = 0; i < half; ++i) {
    const float x1 = x[i];
    const float x2 = x[i + half];
    y[i] = std::fma(x1, cos[i], -(x2 * sin[i]));
    y[i + half] = std::fma(x2, cos[i], x1 * sin[i]);
  }
  for (int i = rotary_dim; i < head_dim; ++i) y[i] = x[i];
}

}  // namespace verbatim::reference
