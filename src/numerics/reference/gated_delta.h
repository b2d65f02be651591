// The scalar reference of the gated delta rule and what feeds it: convolution, gates (numerics.md
// 6, 8). One channel or one value head at a time; never fast.
#ifndef VERBATIM_NUMERICS_REFERENCE_GATED_DELTA_H_
#define VERBATIM_NUMERICS_REFERENCE_GATED_DELTA_H_

namespace verbatim::reference {

inline constexpr int kConvTaps = 4;

// silu(chain over taps 0..3) of one channel; x and w [4], oldest first, inputs before the sequence
// are +0 and take part.
float ConvSilu(const float* x, const float* w);

struct Gates {
  float beta;   // sigmoid(b)
  float decay;  // e = exp(g), +0 if g < -44; g = -(A * softplus(a + dt))
};

// decay_rate is A = exp(A_log), computed once at load.
Gates ComputeGates(float a, float b, float decay_rate, float dt_bias);

// One value head at one token. The state S is [key_dim][value_dim], row-major.
struct DeltaStep {
  int key_dim = 0;              // Dk, a multiple of 4
  int value_dim = 0;            // Dv
  const float* khat = nullptr;  // [Dk], L2Norm of k
  const float* qhat = nullptr;  // [Dk], L2NormScaled of q
  const float* val = nullptr;   // [Dv]
  float beta = 0;
  float decay = 0;  // e
};

// Updates `state` [Dk][Dv]; writes out [Dv] and the value deltas d [Dv] that a replay record keeps.
void GatedDeltaStep(const DeltaStep& step, float* state, float* out, float* d);

// S = fma(khat, d, S * e): the same state as the step that left the record.
void FoldRecord(int key_dim, int value_dim, const float* khat, const float* d, float decay,
                float* state);

}  // namespace verbatim::reference

#endif  // VERBATIM_NUMERICS_REFERENCE_GATED_DELTA_H_
