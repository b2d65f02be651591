// Scans over one row of logits.
#include "numerics/log_softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>

#include "numerics/argmax.h"
#include "numerics/elementary.h"

namespace verbatim::numerics {

namespace {

constexpr size_t kLanes = 64;  // numerics.md section 4

float FoldLanes(std::array<float, kLanes>& lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

}  // namespace

float SumOfExponentials(std::span<const float> logits, float max) {
  std::array<float, kLanes> lanes{};
  for (size_t i = 0; i < logits.size(); ++i) lanes[i % kLanes] += elementary::Exp(logits[i] - max);
  return FoldLanes(lanes);
}

float SumOfExponentials(std::span<const float> logits, std::span<const int32_t> ids, float max) {
  std::array<float, kLanes> lanes{};
  // The ids left out would add +0 to sums that are never -0.
  for (const int32_t id : ids) lanes[id % kLanes] += elementary::Exp(logits[id] - max);
  return FoldLanes(lanes);
}

LogSoftmax LogSoftmax::Of(std::span<const float> logits) {
  const float max = logits[Argmax(logits)];
  return {.max = max, .log_sum = elementary::Log(SumOfExponentials(logits, max))};
}

uint64_t CandidateKey(float logit, int32_t id) {
  const auto bits = std::bit_cast<uint32_t>(logit + 0.0F);  // -0 becomes +0
  // IEEE order as unsigned order: negative numbers reversed, positive ones above them.
  constexpr uint32_t kSign = 0x80000000U;
  const uint32_t ordered = (bits & kSign) != 0 ? ~bits : bits | kSign;
  return (uint64_t{ordered} << 32) | ~static_cast<uint32_t>(id);
}

int32_t CandidateId(uint64_t key) { return static_cast<int32_t>(~static_cast<uint32_t>(key)); }

void GatherBest(std::span<const float> values, size_t count, std::vector<uint64_t>& keys) {
  keys.clear();
  const auto keep_best = [&] {
    if (keys.size() <= count) return;
    std::ranges::nth_element(keys, keys.begin() + static_cast<ptrdiff_t>(count), std::greater());
    keys.resize(count);
  };
  // Values up to `floor` can't be among the best: as many of lower ids are at least as large.
  float floor = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > floor)) continue;
    keys.push_back(CandidateKey(values[i], static_cast<int32_t>(i)));
    if (keys.size() < 2 * count) continue;
    keep_best();
    floor = values[CandidateId(*std::ranges::min_element(keys))];
  }
  keep_best();
}

}  // namespace verbatim::numerics
