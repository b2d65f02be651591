// The counts behind a limit.
#include "measure/work.h"

#include "base/check.h"

namespace verbatim {
namespace {

constexpr int64_t kTileOutputs = 16;
constexpr int64_t kChunk = 32;  // values of K: a dense group, and the unit of unpacking

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Work& Work::operator+=(const Work& other) {
  bytes += other.bytes;
  for (size_t i = 0; i < dots.size(); ++i) dots[i] += other.dots[i];
  lane_ops += other.lane_ops;
  return *this;
}

// Planes as backend/cpu/pack.h describes them; 8 blocks in 32 values. A plane of w bits gives w
// blocks by one mask and 8 - w by a shift and a mask; a second plane costs one `or` more per block.
int UnpackOps(int bits) {
  const auto plane = [](int width) { return width + 2 * (8 - width); };
  constexpr int kBlocks = 8;
  switch (bits) {
    case 8:
      return 0;
    case 2:
    case 4:
      return plane(bits);
    case 3:
      return plane(2) + plane(1) + kBlocks;
    default:  // 5 and 6
      return plane(4) + plane(bits - 4) + kBlocks;
  }
}

Work LinearWork(const WeightFormat& format, int64_t out_features, int64_t in_features, int num_rows,
                int64_t bytes) {
  Work work;
  work.bytes = static_cast<double>(bytes);
  const auto tiles = static_cast<double>(CeilDiv(out_features, kTileOutputs));
  const double rows = num_rows;
  if (format.type != WeightType::kAffine) {
    constexpr int64_t kPairsPerChunk = kChunk / 2;
    const auto pairs = static_cast<double>(CeilDiv(in_features, kChunk) * kPairsPerChunk);
    const double widening = format.type == WeightType::kF32 ? 0 : 2;
    work.lane_ops = tiles * pairs * (2 * rows + widening);
    return work;
  }
  VERBATIM_CHECK(in_features % format.group_size == 0);
  const int64_t num_groups = in_features / format.group_size;
  const auto groups = static_cast<double>(num_groups);
  const double group = format.group_size;
  // bfloat16: zero-extend and shift; binary16: one conversion; binary32: none. Twice: scale, bias.
  const double widening = format.scale_type == WeightType::kBF16  ? 4
                          : format.scale_type == WeightType::kF16 ? 2
                                                                  : 0;
  work.dots[static_cast<size_t>(format.bits)] = tiles * groups * rows * group / 4;
  work.lane_ops = tiles * groups * (4 * rows + widening + group / kChunk * UnpackOps(format.bits));
  return work;
}

Limit LimitOf(const Work& work, const Peaks& peaks) {
  Limit limit;
  limit.memory_s = work.bytes / peaks.bytes;
  limit.compute_s = work.lane_ops / peaks.fmas;
  for (size_t bits = 0; bits < work.dots.size(); ++bits) {
    if (work.dots[bits] > 0) limit.compute_s += work.dots[bits] / peaks.dots[bits];
  }
  return limit;
}

}  // namespace verbatim
