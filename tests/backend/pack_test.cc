// Packing: sizes that one pass reads, and one clear error for each matrix that can't be packed.
#include "backend/cpu/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/backend/linear_cases.h"

namespace verbatim::cpu {
namespace {

using testing::HasSubstr;

constexpr WeightFormat kFourBits = {
    .type = WeightType::kAffine, .bits = 4, .group_size = 64, .scale_type = WeightType::kBF16};

TEST(Pack, APassReadsWhatTheCheckpointHas) {
  ThreadPool pool(1);
  HugePageArena arena;
  for (const WeightFormat& format : AllFormats()) {
    const LinearCase linear(format, 48, 384, 1);  // whole tiles, whole groups
    const auto packed = PackLinear(linear.matrix(), pool, arena);
    ASSERT_TRUE(packed.ok()) << packed.status().message();
    EXPECT_EQ((*packed)->bytes(), linear.matrix().bytes()) << Describe(format);
    EXPECT_EQ((*packed)->in_features(), 384);
    EXPECT_EQ((*packed)->out_features(), 48);
    EXPECT_EQ((*packed)->format(), format);
  }
}

void ExpectError(const WeightMatrix& matrix, StatusCode code, const char* text) {
  ThreadPool pool(1);
  HugePageArena arena;
  const auto packed = PackLinear(matrix, pool, arena);
  ASSERT_FALSE(packed.ok()) << text;
  EXPECT_EQ(packed.status().code(), code);
  EXPECT_THAT(packed.status().message(), HasSubstr("[case] expected"));
  EXPECT_THAT(packed.status().message(), HasSubstr(text));
}

TEST(Pack, RefusesFormatsWithoutKernels) {
  const LinearCase linear(kFourBits, 16, 128, 1);
  for (const int bits : {0, 1, 7, 9}) {
    WeightMatrix matrix = linear.matrix();
    matrix.format.bits = bits;
    ExpectError(matrix, StatusCode::kUnsupported, "bits");
  }
  WeightMatrix matrix = linear.matrix();
  matrix.format.group_size = 16;
  ExpectError(matrix, StatusCode::kUnsupported, "groups of 16");
  matrix = linear.matrix();
  matrix.format.scale_type = WeightType::kAffine;
  ExpectError(matrix, StatusCode::kUnsupported, "scales of type");
}

TEST(Pack, RefusesSizesThatContradictTheShape) {
  const LinearCase affine(kFourBits, 16, 128, 1);
  WeightMatrix matrix = affine.matrix();
  matrix.data = matrix.data.first(matrix.data.size() - 4);
  ExpectError(matrix, StatusCode::kCorrupt, "1020");
  matrix = affine.matrix();
  matrix.biases = matrix.biases.first(2);
  ExpectError(matrix, StatusCode::kCorrupt, "64 of scales");
  matrix = affine.matrix();
  matrix.cols = 100;
  ExpectError(matrix, StatusCode::kCorrupt, "a multiple of the group (64)");
  matrix.rows = 0;
  ExpectError(matrix, StatusCode::kCorrupt, "at least one row");
  const LinearCase dense({.type = WeightType::kBF16}, 3, 5, 1);
  matrix = dense.matrix();
  matrix.cols = 6;
  ExpectError(matrix, StatusCode::kCorrupt, "36 bytes for [3, 6]");
}

TEST(Pack, RefusesNanScalesAndBiases) {
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kF16}) {
    for (const bool in_bias : {false, true}) {
      WeightFormat format = kFourBits;
      format.scale_type = type;
      const LinearCase linear(format, 20, 128, 1);
      WeightMatrix matrix = linear.matrix();
      const auto source = in_bias ? matrix.biases : matrix.scales;
      std::vector<std::byte> values(source.begin(), source.end());
      const uint32_t nan32 = 0xff800001u;
      const uint16_t nan16 = type == WeightType::kBF16 ? 0xff81 : 0xfc01;
      const size_t size = type == WeightType::kF32 ? 4 : 2;
      std::memcpy(&values[33 * size],
                  type == WeightType::kF32 ? static_cast<const void*>(&nan32) : &nan16, size);
      (in_bias ? matrix.biases : matrix.scales) = values;
      ExpectError(matrix, StatusCode::kCorrupt, "NaN");
    }
  }
}

// Checkpoints are mapped: a tensor may start at any byte.
TEST(Pack, ReadsUnalignedData) {
  ThreadPool pool(1);
  HugePageArena arena;
  const LinearCase linear(kFourBits, 16, 128, 1);
  const auto shift = [](std::span<const std::byte> bytes) {
    std::vector<std::byte> moved(bytes.size() + 1);
    std::copy(bytes.begin(), bytes.end(), moved.begin() + 1);
    return moved;
  };
  const auto data = shift(linear.matrix().data);
  const auto scales = shift(linear.matrix().scales);
  WeightMatrix matrix = linear.matrix();
  matrix.data = std::span(data).subspan(1);
  matrix.scales = std::span(scales).subspan(1);
  const auto expected = PackLinear(linear.matrix(), pool, arena);
  const auto actual = PackLinear(matrix, pool, arena);
  ASSERT_TRUE(expected.ok() && actual.ok());
  EXPECT_EQ(std::memcmp((*expected)->tile(0), (*actual)->tile(0),
                        static_cast<size_t>((*expected)->bytes())),
            0);
}

}  // namespace
}  // namespace verbatim::cpu
