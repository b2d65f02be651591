// silu_mul for every target (ops/silu_mul.h). Not the gates that other kernels fuse.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/elementwise.cc"
// clang-format off
#include "backend/cpu/simd_config.h"
#include "hwy/foreach_target.h"
// clang-format on
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
namespace {

// Rows are contiguous, so an item is a run of floats that pays no heed to rows.
constexpr int64_t kSiluMulItem = 1024;
constexpr int64_t kSiluMulItemsPerTask = 8;  // about 1 ns a float with the division: 8 us

int64_t SiluMulFloats(const ops::SiluMulArgs& args) { return args.num_rows * args.width; }
int64_t SiluMulItems(const ops::SiluMulArgs& args) {
  return (SiluMulFloats(args) + kSiluMulItem - 1) / kSiluMulItem;
}
int64_t SiluMulItemsPerTask(const ops::SiluMulArgs&) { return kSiluMulItemsPerTask; }
void SiluMulRun(const ops::SiluMulArgs& args, int64_t begin, int64_t end, const Workspace&) {
  const int64_t last = std::min(end * kSiluMulItem, SiluMulFloats(args));
  int64_t i = begin * kSiluMulItem;
  for (; i + static_cast<int64_t>(kLanes) <= last; i += kLanes) {
    Store(Mul(Silu(Load(args.gate + i)), Load(args.up + i)), args.out + i);
  }
  if (i < last) {
    const size_t n = last - i;
    StoreN(Mul(Silu(LoadN(args.gate + i, n)), LoadN(args.up + i, n)), args.out + i, n);
  }
}

}  // namespace

void FillElementwiseKernels(KernelTable& table) {
  table.silu_mul.phases[0] = {SiluMulItems, SiluMulItemsPerTask, SiluMulRun};
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_FILL(FillElementwiseKernels)
}  // namespace verbatim::cpu
#endif
