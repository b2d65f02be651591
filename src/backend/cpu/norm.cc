// rms_norm and gated_norm for every target (ops/norm.h). Not the per-head norms of rope_and_cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/norm.cc"
// clang-format off
#include "backend/cpu/simd_config.h"
#include "hwy/foreach_target.h"
// clang-format on
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/norm-inl.h"
#include "backend/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
namespace {

// About 0.1 ns a float from cache, so 32 Ki floats are a few us of work.
constexpr int64_t kNormFloatsPerTask = 32768;

int64_t RmsNormItems(const ops::RmsNormArgs& args) { return args.num_rows; }
int64_t RmsNormItemsPerTask(const ops::RmsNormArgs& args) {
  return std::max<int64_t>(1, kNormFloatsPerTask / std::max<int64_t>(1, args.width));
}
void RmsNormRows(const ops::RmsNormArgs& args, int64_t begin, int64_t end, const Workspace&) {
  for (int64_t row = begin; row < end; ++row) {
    RmsNormRow(args.x + row * args.x_stride, args.weight, args.width, args.eps,
               args.out + row * args.out_stride);
  }
}

// One item is one head of one row.
int64_t GatedNormItems(const ops::GatedNormArgs& args) {
  return int64_t{args.num_rows} * args.num_heads;
}
int64_t GatedNormItemsPerTask(const ops::GatedNormArgs& args) {
  return std::max<int64_t>(1, kNormFloatsPerTask / 4 / std::max(1, args.head_dim));
}
void GatedNormHeads(const ops::GatedNormArgs& args, int64_t begin, int64_t end, const Workspace&) {
  const int64_t n = args.head_dim;
  for (int64_t item = begin; item < end; ++item) {
    const float* x = args.x + item * n;
    const float* z = args.z + item * n;
    float* y = args.out + item * n;
    const F32x16 r = Set(RmsScale(x, n, args.eps));
    for (int64_t i = 0; i < n; i += kLanes) {
      const F32x16 scaled = Mul(Mul(LoadUpTo(x + i, n - i), r), LoadUpTo(args.weight + i, n - i));
      StoreUpTo(Mul(scaled, Silu(LoadUpTo(z + i, n - i))), y + i, n - i);
    }
  }
}

}  // namespace

void FillNormKernels(KernelTable& table) {
  table.rms_norm.phases[0] = {RmsNormItems, RmsNormItemsPerTask, RmsNormRows};
  table.gated_norm.phases[0] = {GatedNormItems, GatedNormItemsPerTask, GatedNormHeads};
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_FILL(FillNormKernels)
}  // namespace verbatim::cpu
#endif
