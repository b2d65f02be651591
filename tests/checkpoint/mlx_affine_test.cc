// Packing against vectors and an independent numpy reading; the quantizer against MLX's rule.
#include "checkpoint/mlx_affine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "checkpoint/expect_error.h"
#include "checkpoint/safetensors.h"

namespace verbatim {
namespace {

using testing::ExpectError;

constexpr int kAllBits[] = {2, 3, 4, 5, 6, 8};

std::vector<int> Packed(const std::vector<uint8_t>& q, int bits) {
  std::vector<std::byte> bytes(q.size() * bits / 8);
  PackAffineRow(q, bits, bytes);
  std::vector<int> result;
  for (const std::byte b : bytes) result.push_back(static_cast<int>(b));
  return result;
}

// qwen3_5.md section 10.
TEST(MlxAffine, PacksTheGoldenVectors) {
  EXPECT_EQ(Packed({0, 1, 2, 3, 4, 5, 6, 7}, 4), (std::vector<int>{0x10, 0x32, 0x54, 0x76}));
  EXPECT_EQ(Packed({1, 2, 3, 4, 5, 6, 7, 0}, 3), (std::vector<int>{0xd1, 0x58, 0x1f}));
  EXPECT_EQ(Packed({1, 2, 3, 4, 5, 6, 7, 31}, 5), (std::vector<int>{0x41, 0x0c, 0x52, 0xcc, 0xf9}));
  EXPECT_EQ(Packed({1, 2, 3, 63}, 6), (std::vector<int>{0x81, 0x30, 0xfc}));
}

TEST(MlxAffine, UnpackIsTheInverseOfPack) {
  std::mt19937 random(7);
  for (const int bits : kAllBits) {
    std::vector<uint8_t> q(96);
    for (uint8_t& v : q) v = static_cast<uint8_t>(random() & ((1u << bits) - 1));
    std::vector<std::byte> bytes(q.size() * bits / 8);
    PackAffineRow(q, bits, bytes);
    std::vector<uint8_t> back(q.size());
    UnpackAffineRow(bytes, bits, back);
    EXPECT_EQ(back, q) << bits;
  }
}

// goldens/mlx_affine.safetensors is written by mlx_reference.py, which shares no code with this.
TEST(MlxAffine, EqualsTheNumpyReading) {
  const auto file =
      SafetensorsFile::Open(VERBATIM_SOURCE_DIR "/tests/checkpoint/goldens/mlx_affine.safetensors");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::pair<const char*, WeightType> types[] = {
      {"BF16", WeightType::kBF16}, {"F16", WeightType::kF16}, {"F32", WeightType::kF32}};
  int cases = 0;
  for (const int bits : kAllBits) {
    for (const int group : {32, 64, 128}) {
      for (const auto& [dtype, type] : types) {
        const std::string name =
            "b" + std::to_string(bits) + ".g" + std::to_string(group) + "." + dtype + ".";
        if (!file->tensors().contains(name + "weight")) continue;
        ++cases;
        const TensorInfo& q = file->tensors().at(name + "q");
        const TensorInfo& values = file->tensors().at(name + "values");
        WeightMatrix matrix;
        matrix.format = {WeightType::kAffine, bits, group, type};
        matrix.rows = q.shape[0];
        matrix.cols = q.shape[1];
        matrix.data = file->tensors().at(name + "weight").data;
        matrix.scales = file->tensors().at(name + "scales").data;
        matrix.biases = file->tensors().at(name + "biases").data;

        const std::vector<uint8_t> unpacked = UnpackAffine(matrix);
        ASSERT_EQ(unpacked.size(), q.data.size());
        EXPECT_EQ(std::memcmp(unpacked.data(), q.data.data(), q.data.size()), 0) << name;
        std::vector<float> row(static_cast<size_t>(matrix.cols));
        for (int64_t r = 0; r < matrix.rows; ++r) {
          DequantizeRow(matrix, r, row);
          EXPECT_EQ(
              std::memcmp(row.data(), values.data.data() + r * matrix.cols * 4, row.size() * 4), 0)
              << name << r;
        }
      }
    }
  }
  EXPECT_EQ(cases, 6 * 5);
}

// MLX's rule by hand: the end of larger magnitude is exact, and the scale points away from it.
TEST(MlxAffine, QuantizesByTheRuleOfMlx) {
  float scale = 0;
  float bias = 0;
  std::vector<uint8_t> q(4);
  QuantizeAffineGroup(std::vector<float>{-3, -2, -1, 0}, 2, q, &scale, &bias);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(bias, -3.0f);
  EXPECT_EQ(q, (std::vector<uint8_t>{0, 1, 2, 3}));
  QuantizeAffineGroup(std::vector<float>{0, 1, 2, 3}, 2, q, &scale, &bias);
  EXPECT_EQ(scale, -1.0f);  // |min| <= |max|: negative
  EXPECT_EQ(bias, 3.0f);
  EXPECT_EQ(q, (std::vector<uint8_t>{3, 2, 1, 0}));
  QuantizeAffineGroup(std::vector<float>{0, 0, 0, 0}, 2, q, &scale, &bias);
  EXPECT_EQ(scale, -1e-7f);
  EXPECT_EQ(bias, 0.0f);
  EXPECT_EQ(q, (std::vector<uint8_t>{0, 0, 0, 0}));
  // Halves round to even: (v - 3) / -1 = 2.5, 1.5.
  QuantizeAffineGroup(std::vector<float>{0, 0.5f, 1.5f, 3}, 2, q, &scale, &bias);
  EXPECT_EQ(q, (std::vector<uint8_t>{3, 2, 2, 0}));
}

WeightMatrix DenseView(const std::vector<float>& values, int64_t rows) {
  WeightMatrix matrix;
  matrix.name = "m";
  matrix.rows = rows;
  matrix.cols = static_cast<int64_t>(values.size()) / rows;
  matrix.data = std::as_bytes(std::span(values));
  return matrix;
}

TEST(MlxAffine, ErrorIsAtMostOneStepForEveryWidthAndGroup) {
  std::mt19937 random(3);
  std::vector<float> values(2 * 256);
  for (float& v : values) v = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  for (const int bits : kAllBits) {
    for (const int group : {32, 64, 128}) {
      const auto affine = QuantizeAffine(DenseView(values, 2), {bits, group});
      ASSERT_TRUE(affine.ok());
      const WeightMatrix view = affine->View("m");
      EXPECT_EQ(FormatName(view.format), "affine " + std::to_string(bits) + "-bit g" +
                                             std::to_string(group) + " (f32 scales)");
      std::vector<float> row(256);
      for (int64_t r = 0; r < 2; ++r) {
        DequantizeRow(view, r, row);
        for (size_t i = 0; i < row.size(); ++i) {
          const float scale =
              std::fabs(ReadFloat(view.scales, WeightType::kF32, r * 256 / group + i / group));
          // The scale is stretched so that zero is hit: the far end may be a whole step away.
          EXPECT_LE(std::fabs(row[i] - values[r * 256 + i]), scale * 1.0001f) << bits << " " << i;
        }
      }
    }
  }
}

TEST(MlxAffine, RefusesWhatItCannotQuantize) {
  std::vector<float> values(96, 1.0f);
  ExpectError(QuantizeAffine(DenseView(values, 1), {4, 64}), StatusCode::kInvalidArgument,
              {"[m]", "groups of 64", "96 columns"});
  values[33] = std::numeric_limits<float>::quiet_NaN();
  ExpectError(QuantizeAffine(DenseView(values, 1), {4, 32}), StatusCode::kCorrupt,
              {"[m]", "finite", "row 0, column 33"});
}

}  // namespace
}  // namespace verbatim
