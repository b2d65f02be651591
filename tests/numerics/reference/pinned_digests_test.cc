// Pinned digests of every reference op on seeded inputs: a machine, compiler or flag that changes
// one bit of one op fails here, also where a tolerance test would not see it.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/half.h"
#include "numerics/reference/attention.h"
#include "numerics/reference/elementwise.h"
#include "numerics/reference/gated_delta.h"
#include "numerics/reference/linear.h"
#include "numerics/reference/norm.h"
#include "numerics/reference/rope.h"
#include "numerics/rotary.h"
#include "tests/numerics/digests.h"
#include "tests/numerics/splitmix.h"

namespace verbatim::reference {
namespace {

const PinnedDigests& Pinned() {
  static const PinnedDigests pinned("reference.txt");
  return pinned;
}

// Rows as models have them, then hostile ones: any bits, denormals, huge values, one NaN, zeros.
std::vector<float> Rows(SplitMix& random, int64_t cols) {
  std::vector<float> x = random.Uniforms(4 * cols, 3.0f);
  for (int64_t i = 0; i < cols; ++i) x.push_back(random.AnyBits());
  for (float scale : {0x1p-130f, 0x1p-98f, 0x1p120f}) {
    const std::vector<float> row = random.Uniforms(cols, scale);
    x.insert(x.end(), row.begin(), row.end());
  }
  x.insert(x.end(), cols, 0.0f);
  x[2 * cols + cols / 2] = std::bit_cast<float>(0xffc00001u);
  return x;
}
constexpr int kRows = 9;

TEST(PinnedDigests, LinearAffine) {
  SplitMix random(100);
  std::vector<float> all;
  for (int bits : {2, 3, 4, 5, 6, 8}) {
    for (int group : {32, 64, 128}) {
      const int64_t cols = group * 10;
      AffineMatrix w{7, cols, group, {}, {}, {}};
      for (int64_t i = 0; i < 7 * cols; ++i) {
        w.q.push_back(static_cast<uint8_t>(random.Below(1u << bits)));
      }
      for (int64_t i = 0; i < 7 * cols / group; ++i) {
        w.scale.push_back(Bf16ToFloat(FloatToBf16(random.Uniform() * 0.02f)));
        w.bias.push_back(Bf16ToFloat(FloatToBf16(random.Uniform() * 0.1f)));
      }
      const std::vector<float> x = Rows(random, cols);
      std::vector<float> y(kRows * 7);
      LinearAffine(w, x.data(), kRows, y.data());
      all.insert(all.end(), y.begin(), y.end());
    }
  }
  Pinned().Expect("linear_affine", all);
}

TEST(PinnedDigests, QuantizeRow) {
  SplitMix random(101);
  std::vector<float> all;
  for (int group : {32, 64, 128}) {
    const QuantizedRow row = QuantizeRow(Rows(random, 384), group);
    all.insert(all.end(), row.values.begin(), row.values.end());
    all.insert(all.end(), row.scale.begin(), row.scale.end());
    all.insert(all.end(), row.sum.begin(), row.sum.end());
  }
  Pinned().Expect("quantize_row", all);
}

TEST(PinnedDigests, LinearDense) {
  SplitMix random(102);
  std::vector<float> all;
  for (int64_t cols : {1, 33, 192, 500}) {
    const DenseMatrix w{5, cols, random.Uniforms(5 * cols)};
    const std::vector<float> x = Rows(random, cols);
    std::vector<float> y(kRows * 5);
    LinearDense(w, x.data(), kRows, y.data());
    AddResidual(x.data(), 5, y.data());
    all.insert(all.end(), y.begin(), y.end());
  }
  Pinned().Expect("linear_dense", all);
}

TEST(PinnedDigests, EmbedRow) {
  SplitMix random(103);
  AffineMatrix w{1, 128, 32, {}, random.Uniforms(4), random.Uniforms(4)};
  for (int i = 0; i < 128; ++i) w.q.push_back(static_cast<uint8_t>(random.Below(256)));
  std::vector<float> out(128);
  EmbedRow(w, 0, out.data());
  Pinned().Expect("embed_row", out);
}

TEST(PinnedDigests, Norms) {
  SplitMix random(104);
  std::vector<float> rms, gated, l2;
  for (int64_t d : {16, 100, 128, 192, 256}) {
    const std::vector<float> x = Rows(random, d);
    const std::vector<float> z = Rows(random, d);
    const std::vector<float> w = random.Uniforms(d, 2.0f);
    std::vector<float> y(d);
    for (int r = 0; r < kRows; ++r) {
      RmsNorm(&x[r * d], w.data(), d, 1e-6f, y.data());
      rms.insert(rms.end(), y.begin(), y.end());
      GatedNorm(&x[r * d], &z[r * d], w.data(), d, 1e-6f, y.data());
      gated.insert(gated.end(), y.begin(), y.end());
      L2Norm(&x[r * d], d, y.data());
      l2.insert(l2.end(), y.begin(), y.end());
      L2NormScaled(&x[r * d], d, 0.125f, y.data());
      l2.insert(l2.end(), y.begin(), y.end());
    }
  }
  Pinned().Expect("rms_norm", rms);
  Pinned().Expect("gated_norm", gated);
  Pinned().Expect("l2_norm", l2);
}

TEST(PinnedDigests, Rope) {
  SplitMix random(105);
  const RotaryTables tables = MakeRotaryTables(1e7, 64, 300);
  std::vector<float> all;
  for (int position : {0, 1, 7, 299}) {
    std::vector<float> y = Rows(random, 256);
    for (int r = 0; r < kRows; ++r) {
      float* row = &y[r * 256];
      Rope(row, 256, 64, &tables.cos[position * 32], &tables.sin[position * 32], row);
    }
    all.insert(all.end(), y.begin(), y.end());
  }
  Pinned().Expect("rope", all);
}

TEST(PinnedDigests, Attention) {
  SplitMix random(106);
  constexpr int kDim = 32;
  std::vector<float> all;
  for (auto [first, last] : {std::pair(0, 0), std::pair(1, 300), std::pair(0, 255),
                             std::pair(0, 256), std::pair(511, 900)}) {
    std::vector<float> k = random.Uniforms((last + 1) * kDim, 2.0f);
    std::vector<float> v = random.Uniforms((last + 1) * kDim);
    for (float& value : k) value = Bf16ToFloat(FloatToBf16(value));
    for (float& value : v) value = Bf16ToFloat(FloatToBf16(value));
    const std::vector<float> q = random.Uniforms(kDim, 6.0f);
    const std::vector<float> gate = random.Uniforms(kDim, 4.0f);
    std::vector<float> out(kDim);
    for (const float* g : {static_cast<const float*>(nullptr), gate.data()}) {
      Attention({q.data(), k.data(), v.data(), g, kDim, first, last, 0.17677669f}, out.data());
      all.insert(all.end(), out.begin(), out.end());
    }
  }
  Pinned().Expect("attention", all);
}

TEST(PinnedDigests, GatedDelta) {
  SplitMix random(107);
  constexpr int kKeyDim = 24, kValueDim = 16;
  std::vector<float> state(kKeyDim * kValueDim, 0.0f), all;
  std::vector<float> khat(kKeyDim), qhat(kKeyDim), d(kValueDim), out(kValueDim);
  for (int t = 0; t < 70; ++t) {
    L2Norm(random.Uniforms(kKeyDim).data(), kKeyDim, khat.data());
    L2NormScaled(random.Uniforms(kKeyDim).data(), kKeyDim, 0.2f, qhat.data());
    const std::vector<float> val = random.Uniforms(kValueDim, 2.0f);
    const float a = random.Uniform() * 6;  // one draw a line: arguments have no order of evaluation
    const float b = random.Uniform() * 4;
    const Gates gates = ComputeGates(a, b, 0.7f, 0.3f);
    GatedDeltaStep(
        {kKeyDim, kValueDim, khat.data(), qhat.data(), val.data(), gates.beta, gates.decay},
        state.data(), out.data(), d.data());
    all.insert(all.end(), out.begin(), out.end());
    all.insert(all.end(), d.begin(), d.end());
  }
  all.insert(all.end(), state.begin(), state.end());
  Pinned().Expect("gated_delta", all);
}

TEST(PinnedDigests, GatesAndConvolution) {
  SplitMix random(108);
  std::vector<float> all;
  for (int i = 0; i < 4096; ++i) {
    const float a = i % 2 == 0 ? random.Uniform() * 50 : random.AnyBits();
    const float b = i % 3 == 0 ? random.AnyBits() : random.Uniform() * 20;
    const float decay_rate = random.Uniform() + 1;
    const float dt_bias = random.Uniform();
    const Gates gates = ComputeGates(a, b, decay_rate, dt_bias);
    const std::vector<float> x = random.Uniforms(4, 5.0f);
    const std::vector<float> w = random.Uniforms(4);
    all.insert(all.end(), {gates.beta, gates.decay, ConvSilu(x.data(), w.data())});
  }
  Pinned().Expect("gates_and_conv", all);
}

TEST(PinnedDigests, Elementwise) {
  SplitMix random(109);
  const std::vector<float> gate = Rows(random, 300);
  std::vector<float> up = Rows(random, 300);
  SiluMul(gate.data(), up.data(), static_cast<int64_t>(up.size()), up.data());
  Pinned().Expect("silu_mul", up);
  std::vector<float> y(gate.size());
  Softcap(gate.data(), static_cast<int64_t>(gate.size()), 30.0f, y.data());
  Pinned().Expect("softcap", y);
}

}  // namespace
}  // namespace verbatim::reference
