// Targets: the instruction sets that kernels are built for, and which of them this processor can
// run. Not the kernels.
#ifndef VERBATIM_BACKEND_CPU_TARGETS_H_
#define VERBATIM_BACKEND_CPU_TARGETS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim::cpu {

// Of every architecture, so that a name is known everywhere; worst first within one. kAvx512 is F,
// BW, DQ, VL and CD; kAvx512Vnni adds AVX512_VNNI and nothing else. kNeon is ARMv8.0; kNeonDotprod
// adds FEAT_DotProd and nothing else.
enum class Target : uint8_t { kScalar, kAvx2, kAvx512, kAvx512Vnni, kNeon, kNeonDotprod };

inline constexpr std::array kAllTargets = {Target::kScalar, Target::kAvx2,
                                           Target::kAvx512, Target::kAvx512Vnni,
                                           Target::kNeon,   Target::kNeonDotprod};

// "scalar", "avx2", "avx512", "avx512vnni", "neon", "neon_dotprod".
std::string_view TargetName(Target target);

// What cpuid and xgetbv (x86-64) or the kernel's hwcaps (aarch64) report, as far as targets ask. A
// feature whose registers the operating system does not save counts as absent.
struct CpuFeatures {
  bool avx2 = false;  // with FMA, F16C, BMI1 and BMI2, all of which the AVX2 kernels may use
  bool avx512 = false;
  bool avx512_vnni = false;
  bool neon = false;
  bool neon_dotprod = false;
};

CpuFeatures DetectCpuFeatures();

// Targets that `features` allow, worst first; kScalar is always there.
std::vector<Target> TargetsFor(const CpuFeatures& features);

// Whether one row of quantized weights, and blocks over more than 4 bits, ask ahead for weights:
// where a core waits long for memory (Intel's) that gains up to a third, elsewhere nothing that
// lasts. Only speed depends on it.
bool WaitsLongForMemory();

// The target to run: `option` if not empty, else `environment` (the value of VERBATIM_TARGET) if
// not empty, else the best of `available`. kInvalidArgument: no such target (lists the known ones);
// kUnsupported: not in `available` (says what is).
Expected<Target> ChooseTarget(std::string_view option, std::string_view environment,
                              std::span<const Target> available);

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_TARGETS_H_
