// The reference attention against a binary64 softmax, its chunk seams, its visibility rules and
// NaNs.
#include "numerics/reference/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "numerics/elementary.h"
#include "tests/numerics/splitmix.h"

namespace verbatim::reference {
namespace {

constexpr int kDim = 16;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::vector<float> q, k, v;
  AttentionHead head;

  Case(int64_t slots, int64_t first, int64_t last, uint64_t seed) {
    SplitMix random(seed);
    q = random.Uniforms(kDim, 4.0f);
    k = random.Uniforms(slots * kDim, 2.0f);
    v = random.Uniforms(slots * kDim);
    head = {q.data(), k.data(), v.data(), nullptr, kDim, first, last, 0.25f};
  }
  std::vector<float> Run() const {
    std::vector<float> out(kDim);
    Attention(head, out.data());
    return out;
  }
};

std::vector<double> Softmax64(const Case& c) {
  std::vector<double> scores, out(kDim, 0.0);
  for (int64_t slot = c.head.first_slot; slot <= c.head.last_slot; ++slot) {
    double score = 0;
    for (int d = 0; d < kDim; ++d) score += double{c.q[d]} * c.k[slot * kDim + d];
    scores.push_back(score * c.head.scale);
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double p = std::exp(scores[i] - max);
    total += p;
    for (int d = 0; d < kDim; ++d) out[d] += p * c.v[(c.head.first_slot + i) * kDim + d];
  }
  for (double& o : out) o /= total;
  return out;
}

TEST(Attention, AgreesWithBinary64) {
  for (auto [slots, first, last] :
       {std::tuple(1, 0, 0), std::tuple(255, 0, 254), std::tuple(257, 0, 256),
        std::tuple(257, 1, 256), std::tuple(1000, 300, 999), std::tuple(1100, 255, 1024)}) {
    const Case c(slots, first, last, slots + first);
    const std::vector<float> out = c.Run();
    const std::vector<double> want = Softmax64(c);
    for (int d = 0; d < kDim; ++d) EXPECT_NEAR(out[d], want[d], 2e-6) << slots << " " << first;
  }
}

TEST(Attention, OneVisibleSlotIsItsValue) {
  const Case c(300, 280, 280, 1);
  const std::vector<float> out = c.Run();
  for (int d = 0; d < kDim; ++d) EXPECT_EQ(out[d], c.v[280 * kDim + d]);
}

// A rejected draft's stale rows are not read, whatever they hold.
TEST(Attention, SlotsOutsideDoNotExist) {
  Case c(600, 10, 500, 2);
  const std::vector<float> before = c.Run();
  for (int64_t slot = 0; slot < 600; ++slot) {
    if (slot >= 10 && slot <= 500) continue;
    for (int d = 0; d < kDim; ++d) c.k[slot * kDim + d] = c.v[slot * kDim + d] = kNan;
  }
  EXPECT_EQ(c.Run(), before);
}

TEST(Attention, ANanScoreMakesAllNan) {
  for (int64_t bad : {0, 1, 255, 256, 511, 699}) {
    Case c(700, 0, 699, 3);
    c.k[bad * kDim] = kNan;
    for (float o : c.Run()) EXPECT_TRUE(std::isnan(o)) << bad;
  }
}

// Very different maxima per chunk: the merge rescales, and a chunk that underflows adds nothing.
TEST(Attention, MergesChunksOfDifferentScale) {
  Case c(768, 0, 767, 4);
  c.head.scale = 40.0f;
  const std::vector<float> out = c.Run();
  const std::vector<double> want = Softmax64(c);
  for (int d = 0; d < kDim; ++d) EXPECT_NEAR(out[d], want[d], 1e-4);
}

// The chunks are cut by absolute slot: moving the same rows by one slot may change bits, by 256 may
// not.
TEST(Attention, ChunksAreAbsolute) {
  const Case c(400, 0, 399, 5);
  Case moved(656, 256, 655, 6);
  moved.q = c.q;
  std::copy(c.k.begin(), c.k.end(), moved.k.begin() + 256 * kDim);
  std::copy(c.v.begin(), c.v.end(), moved.v.begin() + 256 * kDim);
  moved.head.q = moved.q.data();
  EXPECT_EQ(c.Run(), moved.Run());
}

// Item 3 of qwen3_5.md section 9: a gate row of zeros halves exactly its head's output.
TEST(Attention, GateIsASigmoidOnTheOutput) {
  Case c(40, 0, 39, 7);
  const std::vector<float> plain = c.Run();
  std::vector<float> gate(kDim, 0.0f);
  gate[3] = 1.5f;
  c.head.gate = gate.data();
  const std::vector<float> gated = c.Run();
  for (int d = 0; d < kDim; ++d) EXPECT_EQ(gated[d], plain[d] * (d == 3 ? Sigmoid(1.5f) : 0.5f));
}

}  // namespace
}  // namespace verbatim::reference
