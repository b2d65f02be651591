// What the processor can run, asked of cpuid and xgetbv or of the kernel's hwcaps, never assumed.
#include "backend/cpu/targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace verbatim::cpu {
namespace {

#if defined(__x86_64__)
constexpr bool Bit(uint32_t word, int bit) { return ((word >> bit) & 1) != 0; }

// Which register states the operating system saves (XCR0). Only valid if cpuid says OSXSAVE.
uint64_t Xgetbv0() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}
#endif

std::vector<std::string_view> Names(std::span<const Target> targets) {
  std::vector<std::string_view> names;
  for (const Target target : targets) names.push_back(TargetName(target));
  return names;
}

}  // namespace

std::string_view TargetName(Target target) {
  switch (target) {
    case Target::kScalar:
      return "scalar";
    case Target::kAvx2:
      return "avx2";
    case Target::kAvx512:
      return "avx512";
    case Target::kAvx512Vnni:
      return "avx512vnni";
    case Target::kNeon:
      return "neon";
    case Target::kNeonDotprod:
      return "neon_dotprod";
  }
  return "unknown";
}

CpuFeatures DetectCpuFeatures() {
  CpuFeatures features;
#if defined(__x86_64__)
  uint32_t a = 0, b1 = 0, c1 = 0, d1 = 0, b7 = 0, c7 = 0, d7 = 0;
  if (__get_cpuid(1, &a, &b1, &c1, &d1) == 0) return features;
  if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) == 0) return features;
  const bool osxsave = Bit(c1, 27);
  const uint64_t xcr0 = osxsave ? Xgetbv0() : 0;
  const bool os_ymm = (xcr0 & 0x06) == 0x06;  // XMM and upper YMM
  const bool os_zmm = (xcr0 & 0xe6) == 0xe6;  // and opmask, upper ZMM0-15, ZMM16-31
  // Leaf 1 ECX: 12 FMA, 28 AVX, 29 F16C. Leaf 7 EBX: 3 BMI1, 5 AVX2, 8 BMI2.
  // Highway's AVX2 target also names SSE4, PCLMUL (1) and AES (25), which the compiler may then
  // use.
  features.avx2 = os_ymm && Bit(c1, 12) && Bit(c1, 28) && Bit(c1, 29) && Bit(c1, 1) &&
                  Bit(c1, 25) && Bit(b7, 3) && Bit(b7, 5) && Bit(b7, 8);
  // Leaf 7 EBX: 16 F, 17 DQ, 28 CD, 30 BW, 31 VL; ECX: 11 VNNI.
  features.avx512 = features.avx2 && os_zmm && Bit(b7, 16) && Bit(b7, 17) && Bit(b7, 28) &&
                    Bit(b7, 30) && Bit(b7, 31);
  features.avx512_vnni = features.avx512 && Bit(c7, 11);
#elif defined(__aarch64__)
  const uint64_t hwcap = getauxval(AT_HWCAP);
  features.neon = (hwcap & HWCAP_ASIMD) != 0;
  features.neon_dotprod = features.neon && (hwcap & HWCAP_ASIMDDP) != 0;
#endif
  return features;
}

bool WaitsLongForMemory() {
#if defined(__x86_64__)
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0) return false;
  return b == signature_INTEL_ebx && c == signature_INTEL_ecx && d == signature_INTEL_edx;
#else
  return false;
#endif
}

std::vector<Target> TargetsFor(const CpuFeatures& features) {
  std::vector<Target> targets = {Target::kScalar};
  if (features.avx2) targets.push_back(Target::kAvx2);
  if (features.avx512) targets.push_back(Target::kAvx512);
  if (features.avx512_vnni) targets.push_back(Target::kAvx512Vnni);
  if (features.neon) targets.push_back(Target::kNeon);
  if (features.neon_dotprod) targets.push_back(Target::kNeonDotprod);
  return targets;
}

Expected<Target> ChooseTarget(std::string_view option, std::string_view environment,
                              std::span<const Target> available) {
  const std::string_view name = option.empty() ? environment : option;
  if (name.empty()) return available.back();
  const std::string_view where = option.empty() ? "VERBATIM_TARGET" : "target";
  const auto known = std::find_if(kAllTargets.begin(), kAllTargets.end(),
                                  [&](Target target) { return TargetName(target) == name; });
  if (known == kAllTargets.end()) {
    return MakeError(StatusCode::kInvalidArgument, where,
                     fmt::format("one of {}", fmt::join(Names(kAllTargets), ", ")),
                     fmt::format("\"{}\"", name));
  }
  if (std::find(available.begin(), available.end(), *known) == available.end()) {
    return MakeError(
        StatusCode::kUnsupported, where,
        fmt::format("a target that this processor has ({})", fmt::join(Names(available), ", ")),
        fmt::format("\"{}\"", name), TargetName(available.back()));
  }
  return *known;
}

}  // namespace verbatim::cpu
