// Affine linears of 5 bits, for every target.
#include "backend/cpu/simd_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/linear_affine5.cc"
#include "hwy/foreach_target.h"
// The above must come first.
#include "backend/cpu/linear_affine-inl.h"
#include "backend/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
void FillLinearAffine5(bool int8_dot, LinearKernels& kernels) { FillAffine<5>(int8_dot, kernels); }
}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_LINEAR_FILL(FillLinearAffine5)
}  // namespace verbatim::cpu
#endif
