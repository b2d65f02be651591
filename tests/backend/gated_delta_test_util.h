// A sequence that runs the gated delta layer token by token with the scalar reference: what every
// block, split, acceptance and fold must equal. Shares no code with the kernels.
#ifndef VERBATIM_TESTS_BACKEND_GATED_DELTA_TEST_UTIL_H_
#define VERBATIM_TESTS_BACKEND_GATED_DELTA_TEST_UTIL_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "numerics/reference/gated_delta.h"
#include "numerics/reference/norm.h"
#include "ops/recurrent_layout.h"
#include "tests/backend/state_op_test_util.h"

namespace verbatim::cpu {

struct LayerWeights {
  std::vector<float> conv;        // [4][conv_dim]
  std::vector<float> decay_rate;  // [Hv]
  std::vector<float> dt_bias;     // [Hv]
  float query_scale = 0;

  LayerWeights(const ops::RecurrentLayout& layout, Random& random)
      : conv(random.Values(4 * layout.conv_dim())),
        decay_rate(random.Values(layout.num_value_heads)),
        dt_bias(random.Values(layout.num_value_heads)),
        query_scale(static_cast<float>(1.0 / std::sqrt(double{1.0} * layout.key_head_dim))) {
    for (float& rate : decay_rate) rate = std::exp(rate);
  }
};

struct Row {
  std::vector<float> mixed;  // [conv_dim]
  std::vector<float> a, b;   // [Hv]
};

inline Row RandomRow(const ops::RecurrentLayout& layout, Random& random, Inputs inputs) {
  const size_t heads = layout.num_value_heads;
  Row row = {random.Values(layout.conv_dim(), inputs), random.Values(heads, inputs),
             random.Values(heads, inputs)};
  // Now and then a decay that is replaced by zero (g < -44) or nearly one.
  if (inputs == Inputs::kOrdinary && random.Int(0, 3) == 0) row.a[0] = 80;
  if (inputs == Inputs::kOrdinary && random.Int(0, 3) == 0) row.a[0] = -30;
  return row;
}

class ReferenceSequence {
 public:
  ReferenceSequence(const ops::RecurrentLayout& layout, const LayerWeights& weights)
      : layout_(layout),
        weights_(&weights),
        conv_rows_(3, std::vector<float>(layout.conv_dim())),
        state_(layout.num_value_heads,
               std::vector<float>(size_t(layout.key_head_dim) * layout.value_head_dim)) {}

  // Consumes one token; returns out [Hv * Dv].
  std::vector<float> Run(const Row& row) {
    const int dk = layout_.key_head_dim, dv = layout_.value_head_dim;
    std::vector<float> x(layout_.conv_dim());
    for (size_t c = 0; c < x.size(); ++c) {
      const float inputs[4] = {conv_rows_[0][c], conv_rows_[1][c], conv_rows_[2][c], row.mixed[c]};
      const float taps[4] = {weights_->conv[c], weights_->conv[x.size() + c],
                             weights_->conv[2 * x.size() + c], weights_->conv[3 * x.size() + c]};
      x[c] = reference::ConvSilu(inputs, taps);
    }
    conv_rows_ = {conv_rows_[1], conv_rows_[2], row.mixed};
    std::vector<float> out(layout_.value_dim()), d(dv), qhat(dk), khat(dk);
    for (int head = 0; head < layout_.num_value_heads; ++head) {
      const int key_head = head / (layout_.num_value_heads / layout_.num_key_heads);
      reference::L2NormScaled(x.data() + key_head * dk, dk, weights_->query_scale, qhat.data());
      reference::L2Norm(x.data() + layout_.key_dim() + key_head * dk, dk, khat.data());
      const reference::Gates gates = reference::ComputeGates(
          row.a[head], row.b[head], weights_->decay_rate[head], weights_->dt_bias[head]);
      reference::GatedDeltaStep(
          {dk, dv, khat.data(), qhat.data(), x.data() + 2 * layout_.key_dim() + head * dv,
           gates.beta, gates.decay},
          state_[head].data(), out.data() + head * dv, d.data());
    }
    return out;
  }

  // Compares with the committed part of a state slot (no draft pending).
  ::testing::AssertionResult SameState(const float* slot) const {
    for (int head = 0; head < layout_.num_value_heads; ++head) {
      std::vector<float> received;
      for (int k = 0; k < layout_.key_head_dim; ++k) {
        for (int v = 0; v < layout_.value_head_dim; ++v) {
          received.push_back(slot[layout_.StateOffset(head, k, v)]);
        }
      }
      auto result = SameBits(state_[head], received);
      if (!result) return result << " in S of head " << head;
    }
    for (size_t i = 0; i < 3; ++i) {
      const float* row = slot + layout_.conv_offset() + i * layout_.conv_dim();
      auto result = SameBits(conv_rows_[i], {row, layout_.conv_dim()});
      if (!result) return result << " in convolution row " << i;
    }
    return ::testing::AssertionSuccess();
  }

 private:
  ops::RecurrentLayout layout_;
  const LayerWeights* weights_;
  std::vector<std::vector<float>> conv_rows_;  // oldest first
  std::vector<std::vector<float>> state_;      // per value head [Dk][Dv]
};

}  // namespace verbatim::cpu

#endif  // VERBATIM_TESTS_BACKEND_GATED_DELTA_TEST_UTIL_H_
