// The gated-delta mixer of one layer in binary64, written from qwen3_5.md section 3, with the
// faults that other engines had as variants. Shares no code with the kernels or their reference.
#ifndef VERBATIM_TESTS_MODEL_GATED_DELTA64_H_
#define VERBATIM_TESTS_MODEL_GATED_DELTA64_H_

#include <algorithm>
#include <array>
#include <string>

#include "base/half.h"
#include "tests/model/layer_support.h"

namespace verbatim::testing {

struct GatedDeltaFaults {
  bool modulo_heads = false;        // pitfall 4: value head h reads key head h mod Hk
  bool bf16_state = false;          // pitfall 19: the state is rounded to bf16 after every token
  bool shifted_gated_norm = false;  // pitfall 2: the gated norm's weight is taken as 1 + w
};

class GatedDelta64 {
 public:
  GatedDelta64(const Checkpoint& checkpoint, int layer, GatedDeltaFaults faults = {})
      : GatedDelta64(checkpoint, "layers." + std::to_string(layer) + ".", faults) {}

  // Consumes one row of the residual stream; returns what the mixer adds to it, [H].
  Vector64 Run(const Vector64& residual) {
    const Vector64 normed = RmsNorm64(residual, input_norm_, config_.rms_norm_eps);
    const Vector64 z = z_.Times(normed), a = a_.Times(normed), b = b_.Times(normed);
    const Vector64 x = Convolve(qkv_.Times(normed));
    const int dk = config_.linear_key_head_dim, dv = config_.linear_value_head_dim;
    const int num_heads = config_.linear_num_value_heads;
    const int key_heads = config_.linear_num_key_heads;
    Vector64 mixed(config_.value_dim());
    for (int head = 0; head < num_heads; ++head) {
      const int key_head = faults_.modulo_heads ? head % key_heads : head / (num_heads / key_heads);
      const Vector64 q = Unit(x.data() + key_head * dk, 1 / std::sqrt(double(dk)));
      const Vector64 k = Unit(x.data() + config_.key_dim() + key_head * dk, 1);
      const double* v = x.data() + 2 * config_.key_dim() + head * dv;
      const double g = -std::exp(a_log_[head]) * std::log1p(std::exp(a[head] + dt_bias_[head]));
      Vector64 out =
          Step(state.data() + int64_t{head} * dk * dv, q, k, v, std::exp(g), Sigmoid64(b[head]));
      out = RmsNorm64(out, gated_norm_, config_.rms_norm_eps);
      for (int i = 0; i < dv; ++i) {
        const double gate = z[head * dv + i];
        mixed[head * dv + i] = out[i] * gate * Sigmoid64(gate);
      }
    }
    return out_.Times(mixed);
  }

  Vector64 state;  // [Hv][Dk][Dv]

 private:
  GatedDelta64(const Checkpoint& checkpoint, const std::string& layer, GatedDeltaFaults faults)
      : config_(checkpoint.config),
        faults_(faults),
        input_norm_(NamedVector64(checkpoint.weights, layer + "input_layernorm")),
        qkv_(checkpoint.weights, layer + "linear_attn.in_proj_qkv"),
        z_(checkpoint.weights, layer + "linear_attn.in_proj_z"),
        a_(checkpoint.weights, layer + "linear_attn.in_proj_a"),
        b_(checkpoint.weights, layer + "linear_attn.in_proj_b"),
        out_(checkpoint.weights, layer + "linear_attn.out_proj"),
        conv_(NamedVector64(checkpoint.weights, layer + "linear_attn.conv1d")),
        a_log_(NamedVector64(checkpoint.weights, layer + "linear_attn.A_log")),
        dt_bias_(NamedVector64(checkpoint.weights, layer + "linear_attn.dt_bias")),
        gated_norm_(NamedVector64(checkpoint.weights, layer + "linear_attn.norm")) {
    state.resize(config_.value_dim() * config_.linear_key_head_dim);
    past_.fill(Vector64(config_.conv_dim()));
    if (faults.shifted_gated_norm) {
      for (double& w : gated_norm_) w += 1;
    }
  }

  // silu of the causal convolution; taps are oldest first.
  Vector64 Convolve(Vector64 row) {
    Vector64 x(row.size());
    for (size_t c = 0; c < x.size(); ++c) {
      const double sum = conv_[4 * c] * past_[0][c] + conv_[4 * c + 1] * past_[1][c] +
                         conv_[4 * c + 2] * past_[2][c] + conv_[4 * c + 3] * row[c];
      x[c] = sum * Sigmoid64(sum);
    }
    past_ = {past_[1], past_[2], std::move(row)};
    return x;
  }

  Vector64 Unit(const double* x, double scale) const {
    Vector64 unit(x, x + config_.linear_key_head_dim);
    const double sum = std::inner_product(unit.begin(), unit.end(), unit.begin(), 0.0);
    for (double& value : unit) value *= scale / std::sqrt(sum + 1e-6);
    return unit;
  }

  // Decay, read with k, write, read with q.
  Vector64 Step(double* s, const Vector64& q, const Vector64& k, const double* v, double decay,
                double beta) const {
    const int dv = config_.linear_value_head_dim;
    Vector64 memory(dv), out(dv);
    for (size_t i = 0; i < k.size(); ++i) {
      for (int j = 0; j < dv; ++j) memory[j] += (s[i * dv + j] *= decay) * k[i];
    }
    for (size_t i = 0; i < k.size(); ++i) {
      for (int j = 0; j < dv; ++j) {
        double& value = s[i * dv + j];
        value += k[i] * beta * (v[j] - memory[j]);
        if (faults_.bf16_state) value = Bf16ToFloat(FloatToBf16(static_cast<float>(value)));
        out[j] += value * q[i];
      }
    }
    return out;
  }

  Qwen35Config config_;
  GatedDeltaFaults faults_;
  Vector64 input_norm_;
  Matrix64 qkv_, z_, a_, b_, out_;
  Vector64 conv_, a_log_, dt_bias_, gated_norm_;
  std::array<Vector64, 3> past_;  // rows before the convolution, oldest first
};

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_MODEL_GATED_DELTA64_H_
