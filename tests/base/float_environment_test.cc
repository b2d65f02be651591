// FloatEnvironment: pins the control word inside and restores the host's outside.
#include "base/float_environment.h"

#include <gtest/gtest.h>

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

#if defined(__x86_64__)
TEST(FloatEnvironment, KeepsDenormalsAndRestoresTheHost) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero and denormals are zero, as a host's fast-math
                                // start-up code sets them
  ASSERT_EQ(HalfOfSmallestNormal(), 0.0f);
  {
    FloatEnvironment environment;
    EXPECT_GT(HalfOfSmallestNormal(), 0.0f);
  }
  EXPECT_EQ(HalfOfSmallestNormal(), 0.0f);
  _mm_setcsr(before);
}
#else
TEST(FloatEnvironment, KeepsDenormals) {
  FloatEnvironment environment;
  EXPECT_GT(HalfOfSmallestNormal(), 0.0f);
}
#endif

}  // namespace
}  // namespace verbatim
