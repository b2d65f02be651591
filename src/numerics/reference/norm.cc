// The scalar reference of row reductions and norms; see norm.h.
#include "numerics/reference/norm.h"

#include <cmath>

#include "numerics/elementary.h"

namespace verbatim::reference {
namespace {

constexpr int kLanes = 64;
constexpr float kL2Eps = 1e-6f;  // inside the square root, whatever the model's rms_norm_eps

float RmsScale(const float* x, int64_t d, float eps) {
  const float sum = LaneSum({x, static_cast<size_t>(d)});
  return 1.0f / std::sqrt(sum / static_cast<float>(d) + eps);
}

float L2Scale(const float* x, int64_t d) {
  return 1.0f / std::sqrt(LaneSum({x, static_cast<size_t>(d)}) + kL2Eps);
}

}  // namespace

float LaneSum(std::span<const float> x) {
  float lane[kLanes] = {};
  for (size_t i = 0; i < x.size(); ++i) lane[i % kLanes] = std::fma(x[i], x[i], lane[i % kLanes]);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] = lane[i] + lane[i + half];
  }
  return lane[0];
}

void RmsNorm(const float* x, const float* w, int64_t d, float eps, float* y) {
  const float r = RmsScale(x, d, eps);
  for (int64_t i = 0; i < d; ++i) y[i] = (x[i] * r) * w[i];
}

void GatedNorm(const float* o, const float* z, const float* w, int64_t d, float eps, float* y) {
  const float r = RmsScale(o, d, eps);
  for (int64_t i = 0; i < d; ++i) y[i] = ((o[i] * r) * w[i]) * Silu(z[i]);
}

void L2Norm(const float* k, int64_t d, float* out) {
  const float r = L2Scale(k, d);
  for (int64_t i = 0; i < d; ++i) out[i] = k[i] * r;
}

void L2NormScaled(const float* q, int64_t d, float c, float* out) {
  const float r = L2Scale(q, d);
  for (int64_t i = 0; i < d; ++i) out[i] = (q[i] * r) * c;
}

}  // namespace verbatim::reference
