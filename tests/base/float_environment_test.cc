// FloatEnvironment: pins the control word inside and restores the host's outside.
#include "base/float_environment.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace verbatim {
namespace {

float HalfOfSmallestNormal() {
  volatile float tiny = std::numeric_limits<float>::min();
  return tiny / 2;
}
float OnePlusAQuarterUlp() {
  volatile float one = 1.0f;
  return one + 0x1p-25f;
}

#if defined(__x86_64__)
using ControlWord = unsigned;
constexpr ControlWord kFlush = 0x8040;  // flush to zero and denormals are zero
constexpr ControlWord kUpward = 0x4000;
ControlWord Read() { return _mm_getcsr(); }
void Write(ControlWord word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
using ControlWord = uint64_t;
constexpr ControlWord kFlush = 1u << 24;
constexpr ControlWord kUpward = 1u << 22;
ControlWord Read() {
  ControlWord word;
  asm volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
void Write(ControlWord word) { asm volatile("msr fpcr, %0" ::"r"(word)); }
#endif

// As a host's fast-math start-up code sets it.
TEST(FloatEnvironment, KeepsDenormalsAndRestoresTheHost) {
  const ControlWord before = Read();
  Write(before | kFlush);
  ASSERT_EQ(HalfOfSmallestNormal(), 0.0f);
  {
    FloatEnvironment environment;
    EXPECT_GT(HalfOfSmallestNormal(), 0.0f);
  }
  EXPECT_EQ(HalfOfSmallestNormal(), 0.0f);
  Write(before);
}

TEST(FloatEnvironment, RoundsToNearestAndRestoresTheHost) {
  const ControlWord before = Read();
  Write(before | kUpward);
  ASSERT_GT(OnePlusAQuarterUlp(), 1.0f);
  {
    FloatEnvironment environment;
    EXPECT_EQ(OnePlusAQuarterUlp(), 1.0f);
  }
  EXPECT_GT(OnePlusAQuarterUlp(), 1.0f);
  Write(before);
}

}  // namespace
}  // namespace verbatim
