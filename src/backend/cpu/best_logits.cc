// best_logits for every target (ops/best_logits.h). Not sampling.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/best_logits.cc"
// clang-format off
#include "backend/cpu/simd_config.h"
#include "hwy/foreach_target.h"
// clang-format on
#include <algorithm>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
namespace {

// Only a run whose largest value is a new record is searched for its place, and its values are then
// still in the first cache.
constexpr int64_t kRun = 2048;
static_assert(kRun % kLanes == 0);

// The largest of n values, NaN left out, and whether there is a NaN.
HWY_INLINE float LargestOfRun(const float* x, int64_t n, bool& has_nan) {
  const F32x16 none = Set(-std::numeric_limits<float>::infinity());
  // Two chains hide the latency of comparing.
  F32x16 largest[2] = {none, none};
  F32x16 nan[2] = {Zero(), Zero()};  // the last NaN of each lane
  int64_t i = 0;
  for (; i + int64_t{2 * kLanes} <= n; i += 2 * kLanes) {
    for (int chain = 0; chain < 2; ++chain) {
      const F32x16 value = Load(x + i + chain * kLanes);
      largest[chain] = MaxKeepFirst(largest[chain], value);
      nan[chain] = Select(Eq(value, value), nan[chain], value);
    }
  }
  float values[kLanes], nans[kLanes];
  Store(MaxKeepFirst(largest[0], largest[1]), values);
  Store(Add(nan[0], nan[1]), nans);
  float best = values[0];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    best = values[lane] > best ? values[lane] : best;
    has_nan |= nans[lane] != nans[lane];
  }
  for (; i < n; ++i) {
    has_nan |= x[i] != x[i];
    best = x[i] > best ? x[i] : best;
  }
  return best;
}

int64_t NumItems(const ops::BestLogitsArgs& args) { return args.num_rows; }
int64_t ItemsPerTask(const ops::BestLogitsArgs& args) {
  constexpr int64_t kMinValues = 64 * 1024;  // some 5 us
  return std::max<int64_t>(1, kMinValues / args.vocab_size);
}

void Run(const ops::BestLogitsArgs& args, int64_t begin, int64_t end, const Workspace&) {
  for (int64_t row = begin; row < end; ++row) {
    const float* logits = args.logits + row * args.vocab_size;
    ops::BestLogit result;
    float best = -std::numeric_limits<float>::infinity();
    for (int64_t first = 0; first < args.num_choosable; first += kRun) {
      const int64_t n = std::min(kRun, args.num_choosable - first);
      const float largest = LargestOfRun(logits + first, n, result.has_nan);
      if (!(largest > best)) continue;
      best = largest;
      result.id =
          static_cast<int32_t>(std::find(logits + first, logits + first + n, largest) - logits);
    }
    LargestOfRun(logits + args.num_choosable, args.vocab_size - args.num_choosable, result.has_nan);
    args.best[row] = result;
  }
}

}  // namespace

void FillBestLogitsKernels(KernelTable& table) {
  table.best_logits.phases[0] = {NumItems, ItemsPerTask, Run};
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_FILL(FillBestLogitsKernels)
}  // namespace verbatim::cpu
#endif
