// The peak loops compute what their header says, on every target: a loop that a compiler emptied
// would be the fastest of all.
#include "backend/cpu/peak.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/aligned_buffer.h"

namespace verbatim::cpu {
namespace {

class PeakTest : public ::testing::TestWithParam<std::string> {
 protected:
  PeakTest() : kernels_(*PeakKernelsFor(GetParam())) {}
  PeakKernels kernels_;
};

TEST_P(PeakTest, FmaRunsEveryChainEveryRound) {
  constexpr int64_t kRounds = 37;
  float factors[16], addends[16];
  std::vector<float> sums(kernels_.fma_chains * 16), wanted(sums.size());
  for (int i = 0; i < 16; ++i) {
    factors[i] = 0.75f + 0.01f * static_cast<float>(i);
    addends[i] = 1.0f - 0.02f * static_cast<float>(i);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = wanted[i] = 0.1f * static_cast<float>(i);
    for (int64_t round = 0; round < kRounds; ++round) {
      wanted[i] = std::fma(wanted[i], factors[i % 16], addends[i % 16]);
    }
  }
  kernels_.fma(kRounds, factors, addends, sums.data());
  EXPECT_EQ(sums, wanted);
}

TEST_P(PeakTest, DotAddsEveryBlockEveryRound) {
  constexpr int64_t kRounds = 5;
  const int rows = kernels_.dot_rows;
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    AlignedBuffer<std::byte> weights(PeakKernels::kDotBlocks * 64);
    std::vector<int8_t> x(PeakKernels::kDotBlocks * rows * 4);
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<std::byte>((i * 7 + 3) & ((1u << bits) - 1));
    }
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127);
    }
    std::vector<int32_t> sums(rows * 16, 5), wanted(sums);
    for (int block = 0; block < PeakKernels::kDotBlocks; ++block) {
      for (int row = 0; row < rows; ++row) {
        for (int lane = 0; lane < 16; ++lane) {
          for (int k = 0; k < 4; ++k) {
            wanted[row * 16 + lane] += static_cast<int32_t>(kRounds) *
                                       std::to_integer<int>(weights[(block * 16 + lane) * 4 + k]) *
                                       x[(block * rows + row) * 4 + k];
          }
        }
      }
    }
    kernels_.dot[bits](kRounds, weights.data(), x.data(), sums.data());
    EXPECT_EQ(sums, wanted) << bits << " bits";
  }
  EXPECT_EQ(kernels_.dot[7], nullptr);
}

TEST_P(PeakTest, ReadsEveryWordOnce) {
  constexpr size_t kBytes = 8 * 1024;
  AlignedBuffer<std::byte> data(kBytes);
  uint64_t wanted = 0;
  for (size_t i = 0; i < kBytes / 8; ++i) {
    const uint64_t word = (i + 1) * 0x9e3779b97f4a7c15u;
    std::memcpy(data.data() + 8 * i, &word, 8);
    wanted ^= word;
  }
  for (const int streams : {1, 2, 4, 8}) {
    EXPECT_EQ(kernels_.read(data.data(), kBytes / streams, streams), wanted) << streams;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PeakTest, ::testing::ValuesIn(AvailableTargets()),
                         [](const auto& target) { return target.param; });

TEST(PeakKernelsForTest, UnknownTargetsAreRefused) {
  EXPECT_EQ(PeakKernelsFor("sse2").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace verbatim::cpu
