// Affine linears of 4 bits, for every target.
#include "backend/cpu/simd_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/linear_affine4.cc"
#include "hwy/foreach_target.h"
// The above must come first.
#include "backend/cpu/linear_affine-inl.h"
#include "backend/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
void FillLinearAffine4(bool int8_dot, LinearKernels& kernels) { FillAffine<4>(int8_dot, kernels); }
}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_LINEAR_FILL(FillLinearAffine4)
}  // namespace verbatim::cpu
#endif
