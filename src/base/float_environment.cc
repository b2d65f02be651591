// The floating-point control word per architecture. Nothing else.
#include "base/float_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace verbatim {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kDefault =
    0x1f80;  // MXCSR after reset: all exceptions masked, nearest, no FTZ, no DAZ
uint64_t Read() { return _mm_getcsr(); }
void Write(uint64_t word) { _mm_setcsr(static_cast<uint32_t>(word)); }
#elif defined(__aarch64__)
constexpr uint64_t kDefault = 0;  // FPCR: nearest, no flush to zero, no default NaN
uint64_t Read() {
  uint64_t word;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
void Write(uint64_t word) { asm volatile("msr fpcr, %0" ::"r"(word)); }
#else
#error "this architecture's floating-point control word is not known"
#endif

}  // namespace

FloatEnvironment::FloatEnvironment() : saved_(Read()) { Write(kDefault); }
FloatEnvironment::~FloatEnvironment() { Write(saved_); }

}  // namespace verbatim
