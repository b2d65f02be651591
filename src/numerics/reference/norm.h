// The scalar reference of row reductions and norms (numerics.md 4, 8). Never fast.
#ifndef VERBATIM_NUMERICS_REFERENCE_NORM_H_
#define VERBATIM_NUMERICS_REFERENCE_NORM_H_

#include <cstdint>
#include <span>

namespace verbatim::reference {

// Sum of squares: lane j of 64 is the chain of fma(x_i, x_i, acc) over i = j (mod 64), then lanes
// are added by halves (l[i] += l[i + 32], ... l[0] += l[1]).
float LaneSum(std::span<const float> x);

// y = (x * r) * w, r = 1 / sqrt(sum / d + eps); x, w, y [d]. w is the final multiplier: 1 + w of a
// zero-centred weight is computed once at load. y may alias x.
void RmsNorm(const float* x, const float* w, int64_t d, float eps, float* y);

// One head of the gated norm: y = ((o * r) * w) * silu(z); o, z, w, y [d]. y may alias o or z.
void GatedNorm(const float* o, const float* z, const float* w, int64_t d, float eps, float* y);

// out = k * r, r = 1 / sqrt(sum + 1e-6); k, out [d].
void L2Norm(const float* k, int64_t d, float* out);

// out = (q * r) * c, with the same r; c is Dk^-0.5 computed in binary64 and rounded once.
void L2NormScaled(const float* q, int64_t d, float c, float* out);

}  // namespace verbatim::reference

#endif  // VERBATIM_NUMERICS_REFERENCE_NORM_H_
