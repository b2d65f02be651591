// The scalar reference of the gated delta rule; see gated_delta.h.
#include "numerics/reference/gated_delta.h"

#include <cmath>

#include "numerics/elementary.h"

namespace verbatim::reference {
namespace {

// Below this exp(g) becomes +0, since a decaying state that reaches denormals costs 100 times.
constexpr float kMinLogDecay = -44.0f;

}  // namespace

float ConvSilu(const float* x, const float* w) {
  float acc = 0.0f;
  for (int tap = 0; tap < kConvTaps; ++tap) acc = std::fma(x[tap], w[tap], acc);
  return Silu(acc);
}

Gates ComputeGates(float a, float b, float decay_rate, float dt_bias) {
  const float g = -(decay_rate * Softplus(a + dt_bias));
  return {Sigmoid(b), g < kMinLogDecay ? 0.0f : Exp(g)};
}

void GatedDeltaStep(const DeltaStep& step, float* state, float* out, float* d) {
  const int dv = step.value_dim;
  for (int v = 0; v < dv; ++v) {
    float mem[4] = {};
    for (int k = 0; k < step.key_dim; ++k) {
      mem[k % 4] = std::fma(state[k * dv + v] * step.decay, step.khat[k], mem[k % 4]);
    }
    d[v] = (step.val[v] - ((mem[0] + mem[1]) + (mem[2] + mem[3]))) * step.beta;
  }
  FoldRecord(step.key_dim, dv, step.khat, d, step.decay, state);
  for (int v = 0; v < dv; ++v) {
    float sum[4] = {};
    for (int k = 0; k < step.key_dim; ++k) {
      sum[k % 4] = std::fma(state[k * dv + v], step.qhat[k], sum[k % 4]);
    }
    out[v] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

void FoldRecord(int key_dim, int value_dim, const float* khat, const float* d, float decay,
                float* state) {
  for (int k = 0; k < key_dim; ++k) {
    for (int v = 0; v < value_dim; ++v) {
      float& s = state[k * value_dim + v];
      s = std::fma(khat[k], d[v], s * decay);
    }
  }
}

}  // namespace verbatim::reference
