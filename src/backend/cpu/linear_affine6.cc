// Affine linears of 6 bits, for every target.
#include "backend/cpu/simd_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/linear_affine6.cc"
#include "hwy/foreach_target.h"
// The above must come first.
#include "backend/cpu/linear_affine-inl.h"
#include "backend/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
void FillLinearAffine6(bool int8_dot, LinearKernels& kernels) { FillAffine<6>(int8_dot, kernels); }
}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_LINEAR_FILL(FillLinearAffine6)
}  // namespace verbatim::cpu
#endif
