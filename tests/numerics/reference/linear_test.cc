// The reference linears against the formulas of numerics.md 1 to 3 in binary64, and their edge
// cases.
#include "numerics/reference/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/numerics/splitmix.h"

namespace verbatim::reference {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

AffineMatrix RandomAffine(SplitMix& random, int64_t rows, int64_t cols, int group, int bits) {
  AffineMatrix w{rows, cols, group, {}, {}, {}};
  for (int64_t i = 0; i < rows * cols; ++i) {
    w.q.push_back(static_cast<uint8_t>(random.Below(1u << bits)));
  }
  w.scale = random.Uniforms(rows * cols / group, 0.01f);
  w.bias = random.Uniforms(rows * cols / group, 0.05f);
  return w;
}

TEST(QuantizeRow, MapsTheLargestMagnitudeTo127) {
  const std::vector<float> x = {0.5f, -2.0f, 1.0f, 0.0f, 3.0f, 3.0f, -3.0f, 1.5f};
  const QuantizedRow row = QuantizeRow(x, 4);
  EXPECT_EQ(row.values, (std::vector<int8_t>{32, -127, 64, 0, 127, 127, -127, 64}));
  EXPECT_EQ(row.scale, (std::vector<float>{2.0f / 127.0f, 3.0f / 127.0f}));
  EXPECT_EQ(row.sum[0], 2.0f / 127.0f * -31.0f);
  EXPECT_EQ(row.sum[1], 3.0f / 127.0f * 191.0f);
}

TEST(QuantizeRow, TiesGoToEven) {
  // a = 127, so x * inv = x: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2, -0.5 -> 0.
  const std::vector<float> x = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 3.5f, 0.49f};
  EXPECT_EQ(QuantizeRow(x, 8).values, (std::vector<int8_t>{127, 0, 2, 2, 0, -2, 4, 0}));
}

TEST(QuantizeRow, GroupsThatAreNotFinite) {
  for (float bad : {kNan, -kNan, kInf, -kInf}) {
    const std::vector<float> x = {1.0f, bad, 2.0f, 3.0f};
    const QuantizedRow row = QuantizeRow(x, 2);
    EXPECT_TRUE(std::isnan(row.scale[0]) && std::isnan(row.sum[0]));
    EXPECT_EQ(row.values[0], 0);
    EXPECT_EQ(row.values[3], 127) << "the next group is untouched";
  }
}

TEST(QuantizeRow, TinyGroupsAreZero) {
  const float limit = 0x1p-100f;
  const std::vector<float> x = {std::nextafter(limit, 0.0f), 0x1p-149f, limit, 0.0f, -0.0f, 0.0f};
  const QuantizedRow row = QuantizeRow(x, 2);
  EXPECT_EQ(row.scale[0], 0.0f);
  EXPECT_EQ(row.values[0], 0);
  EXPECT_EQ(row.scale[1], limit / 127.0f);
  EXPECT_EQ(row.values[2], 127);
  EXPECT_EQ(row.scale[2], 0.0f);
  EXPECT_FALSE(std::signbit(row.sum[2]));
}

TEST(QuantizeRow, NeverLeavesTheRange) {
  SplitMix random(3);
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<float> x(32);
    for (float& value : x) value = random.AnyBits();
    x[5] = std::numeric_limits<float>::max() * random.Uniform();
    for (float value : x) {
      if (!std::isfinite(value)) x.assign(32, random.Uniform());
    }
    for (int8_t value : QuantizeRow(x, 32).values) ASSERT_GE(value, -127);
  }
}

TEST(LinearAffine, AgreesWithBinary64OnTheQuantizedActivations) {
  SplitMix random(1);
  for (int group : {32, 64, 128}) {
    for (int bits : {2, 3, 4, 5, 6, 8}) {
      const int64_t cols = group * 11;  // uneven segments
      const AffineMatrix w = RandomAffine(random, 5, cols, group, bits);
      const std::vector<float> x = random.Uniforms(3 * cols, 4.0f);
      std::vector<float> y(15);
      LinearAffine(w, x.data(), 3, y.data());
      for (int r = 0; r < 3; ++r) {
        const QuantizedRow row =
            QuantizeRow({x.data() + r * cols, static_cast<size_t>(cols)}, group);
        for (int n = 0; n < 5; ++n) {
          double sum = 0;
          double magnitude = 0;
          double true_sum = 0;  // with the activations before they were quantized
          for (int64_t k = 0; k < cols; ++k) {
            const int64_t g = (n * cols + k) / group;
            const double weight = double{w.scale[g]} * w.q[n * cols + k] + w.bias[g];
            sum += weight * row.values[k] * row.scale[k / group];
            true_sum += weight * x[r * cols + k];
            magnitude += std::fabs(weight * x[r * cols + k]);
          }
          EXPECT_NEAR(y[r * 5 + n], sum, magnitude * 0x1p-20) << group << " " << bits;
          EXPECT_NEAR(y[r * 5 + n], true_sum, magnitude * 0.02) << "int8 activations";
        }
      }
    }
  }
}

TEST(LinearAffine, OneNanActivationMakesItsRowNanAndNoOther) {
  SplitMix random(2);
  const AffineMatrix w = RandomAffine(random, 4, 128, 64, 4);
  std::vector<float> x = random.Uniforms(2 * 128);
  x[70] = kNan;
  std::vector<float> y(8);
  LinearAffine(w, x.data(), 2, y.data());
  for (int n = 0; n < 4; ++n) {
    EXPECT_TRUE(std::isnan(y[n]));
    EXPECT_TRUE(std::isfinite(y[4 + n]));
  }
}

// scale before bias, segments in the tree: three groups with sums that absorb each other.
TEST(LinearAffine, AddsInThePinnedOrder) {
  AffineMatrix w{1, 4, 2, {1, 0, 1, 0}, {127.0f, 0x1p-23f * 127}, {127.0f * 0x1p24f, 0.0f}};
  // Row: sx = 1/127, values 127, so I = 127 and sumx = (1/127) * 127 = 1.
  const float x[] = {1.0f, 0.0f, 1.0f, 0.0f};
  float y;
  LinearAffine(w, x, 1, &y);
  const float sx = 1.0f / 127.0f;
  const float sumx = sx * 127.0f;
  const float s3 = std::fma(127.0f * 0x1p24f, sumx, std::fma(127.0f * sx, 127.0f, 0.0f));
  const float s7 = std::fma(0.0f, sumx, std::fma(0x1p-23f * 127 * sx, 127.0f, 0.0f));
  EXPECT_EQ(y, s3 + s7);
}

TEST(LinearDense, AgreesWithBinary64) {
  SplitMix random(4);
  for (int64_t cols : {1, 31, 32, 33, 192, 257, 1000}) {
    const DenseMatrix w{6, cols, random.Uniforms(6 * cols)};
    const std::vector<float> x = random.Uniforms(2 * cols);
    std::vector<float> y(12);
    LinearDense(w, x.data(), 2, y.data());
    for (int r = 0; r < 2; ++r) {
      for (int n = 0; n < 6; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < cols; ++k) sum += double{w.w[n * cols + k]} * x[r * cols + k];
        EXPECT_NEAR(y[r * 6 + n], sum, 1e-6 * std::sqrt(static_cast<double>(cols)) + 1e-7);
      }
    }
  }
}

// One group: segment 7 alone, even and odd k in two chains.
TEST(LinearDense, EvenAndOddChainsAreSeparate) {
  // Even chain: 2^24 then + 1 is lost; odd chain: 1 + 1 = 2 survives. In one chain all would be
  // lost.
  DenseMatrix w{1, 4, {1.0f, 1.0f, 1.0f, 1.0f}};
  const float x[] = {0x1p24f, 1.0f, 1.0f, 1.0f};
  float y;
  LinearDense(w, x, 1, &y);
  EXPECT_EQ(y, 0x1p24f + 2.0f);
}

TEST(LinearDense, PaddingTakesPart) {
  DenseMatrix w{1, 1, {-0.0f}};
  const float x[] = {1.0f};
  float y;
  LinearDense(w, x, 1, &y);
  EXPECT_FALSE(std::signbit(y)) << "the chain starts at +0";
  w.w[0] = kInf;
  LinearDense(w, x, 1, &y);
  EXPECT_EQ(y, kInf) << "padding of zeros does not meet the infinity";
}

TEST(AddResidual, IsOneAdd) {
  float y[] = {1.0f, 0x1p24f};
  const float residual[] = {2.0f, 1.0f};
  AddResidual(residual, 2, y);
  EXPECT_EQ(y[0], 3.0f);
  EXPECT_EQ(y[1], 0x1p24f);
}

TEST(EmbedRow, IsOneFma) {
  const AffineMatrix table{2, 2, 2, {0, 1, 3, 255}, {1.0f, 0.1f}, {5.0f, -0.3f}};
  float out[2];
  EmbedRow(table, 1, out);
  EXPECT_EQ(out[0], std::fma(0.1f, 3.0f, -0.3f));
  EXPECT_NE(out[0], 0.1f * 3.0f + -0.3f) << "the case tells fma from two roundings";
  EXPECT_EQ(out[1], std::fma(0.1f, 255.0f, -0.3f));
  const DenseMatrix dense{2, 2, {1, 2, 3, 4}};
  EmbedRow(dense, 1, out);
  EXPECT_EQ(out[0], 3.0f);
  EXPECT_EQ(out[1], 4.0f);
}

}  // namespace
}  // namespace verbatim::reference
