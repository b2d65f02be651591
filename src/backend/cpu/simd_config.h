// Which Highway targets kernels are compiled for. Include before hwy/foreach_target.h in every
// kernel file.
//
// A kernel file is read once per target, in namespace HWY_NAMESPACE: N_AVX2, N_AVX3 and N_SCALAR on
// x86-64, N_NEON and N_SCALAR on aarch64. In the scalar pass simd-inl.h gives its own plain loops
// instead of Highway's scalar ops, which do not fuse fma (numerics.md 12).
#ifndef VERBATIM_BACKEND_CPU_SIMD_CONFIG_H_
#define VERBATIM_BACKEND_CPU_SIMD_CONFIG_H_

#include "base/check.h"

#define HWY_BROKEN_EMU128 1  // the baseline pass is HWY_SCALAR with every compiler
#if defined(__x86_64__)
// Below AVX2 no target has a native fma; AVX3_DL asks for far more than VNNI.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_EMU128)
#elif defined(__aarch64__)
// NEON is aarch64's baseline. So the scalar pass has to be asked for (first name), and no function
// needs a target attribute: Highway's would be "+crypto", which many processors lack and which g++
// forgets on constructors that it makes itself. The second name turns that off.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_EMU128)
#define HWY_COMPILE_ALL_ATTAINABLE
#define TOOLCHAIN_MISS_SYS_AUXV_H
#else
#error "no kernels for this architecture"
#endif

// Returns `plain` or `int8_dot` of the target's namespace, the latter where integer dots have an
// instruction: kAvx512Vnni gets the AVX3 pass and kNeonDotprod the NEON pass, as only dots differ.
// Falls through for the other architecture's targets, which are never available.
#if defined(__x86_64__)
#define VERBATIM_RETURN_FOR_TARGET(target, plain, int8_dot) \
  switch (target) {                                         \
    case Target::kScalar:                                   \
      return N_SCALAR::plain;                               \
    case Target::kAvx2:                                     \
      return N_AVX2::plain;                                 \
    case Target::kAvx512:                                   \
      return N_AVX3::plain;                                 \
    case Target::kAvx512Vnni:                               \
      return N_AVX3::int8_dot;                              \
    case Target::kNeon:                                     \
    case Target::kNeonDotprod:                              \
      break;                                                \
  }
#else
#define VERBATIM_RETURN_FOR_TARGET(target, plain, int8_dot) \
  switch (target) {                                         \
    case Target::kScalar:                                   \
      return N_SCALAR::plain;                               \
    case Target::kNeon:                                     \
      return N_NEON::plain;                                 \
    case Target::kNeonDotprod:                              \
      return N_NEON::int8_dot;                              \
    case Target::kAvx2:                                     \
    case Target::kAvx512:                                   \
    case Target::kAvx512Vnni:                               \
      break;                                                \
  }
#endif

// Placed once, after the passes: defines `void Fill(Target, KernelTable&)` that calls the
// Fill(KernelTable&) of the target's namespace.
#define VERBATIM_EXPORT_FILL(Fill)                               \
  void Fill(Target target, KernelTable& table) {                 \
    VERBATIM_RETURN_FOR_TARGET(target, Fill(table), Fill(table)) \
    VERBATIM_CHECK(!"a target that this processor can have");    \
  }

// The same for a function void Fill(bool int8_dot, LinearKernels&), where that matters.
#define VERBATIM_EXPORT_LINEAR_FILL(Fill)                                         \
  void Fill(Target target, LinearKernels& kernels) {                              \
    VERBATIM_RETURN_FOR_TARGET(target, Fill(false, kernels), Fill(true, kernels)) \
    VERBATIM_CHECK(!"a target that this processor can have");                     \
  }

#endif  // VERBATIM_BACKEND_CPU_SIMD_CONFIG_H_
