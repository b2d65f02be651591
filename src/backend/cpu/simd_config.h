// Which Highway targets kernels are compiled for. Include before hwy/foreach_target.h in every
// kernel file.
//
// A kernel file is read once per target, in namespace HWY_NAMESPACE: N_AVX2, N_AVX3 and N_SCALAR.
// In the last pass simd-inl.h gives its own plain loops instead of Highway's scalar ops, which do
// not fuse fma (numerics.md 12).
#ifndef VERBATIM_BACKEND_CPU_SIMD_CONFIG_H_
#define VERBATIM_BACKEND_CPU_SIMD_CONFIG_H_

#define HWY_BROKEN_EMU128 1  // the baseline pass is HWY_SCALAR with every compiler
// Below AVX2 no target has a native fma; AVX3_DL asks for far more than VNNI.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_EMU128)

// Placed once, after the passes: defines `void Fill(Target, KernelTable&)` that calls the
// Fill(KernelTable&) of the target's namespace. kAvx512Vnni gets the AVX3 pass, as only integer
// dots differ.
#define VERBATIM_EXPORT_FILL(Fill)               \
  void Fill(Target target, KernelTable& table) { \
    switch (target) {                            \
      case Target::kScalar:                      \
        return N_SCALAR::Fill(table);            \
      case Target::kAvx2:                        \
        return N_AVX2::Fill(table);              \
      case Target::kAvx512:                      \
      case Target::kAvx512Vnni:                  \
        return N_AVX3::Fill(table);              \
    }                                            \
  }

// The same for a function void Fill(bool vnni, LinearKernels&), where VNNI matters.
#define VERBATIM_EXPORT_LINEAR_FILL(Fill)            \
  void Fill(Target target, LinearKernels& kernels) { \
    switch (target) {                                \
      case Target::kScalar:                          \
        return N_SCALAR::Fill(false, kernels);       \
      case Target::kAvx2:                            \
        return N_AVX2::Fill(false, kernels);         \
      case Target::kAvx512:                          \
        return N_AVX3::Fill(false, kernels);         \
      case Target::kAvx512Vnni:                      \
        return N_AVX3::Fill(true, kernels);          \
    }                                                \
  }

#endif  // VERBATIM_BACKEND_CPU_SIMD_CONFIG_H_
