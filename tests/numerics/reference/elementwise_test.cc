// The reference elementwise ops against binary64.
#include "numerics/reference/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/numerics/splitmix.h"

namespace verbatim::reference {
namespace {

TEST(SiluMul, AgreesWithBinary64AndMayBeInPlace) {
  SplitMix random(1);
  const std::vector<float> gate = random.Uniforms(1000, 20.0f);
  std::vector<float> up = random.Uniforms(1000, 3.0f);
  const std::vector<float> up_before = up;
  SiluMul(gate.data(), up.data(), 1000, up.data());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NEAR(up[i], gate[i] / (1 + std::exp(-double{gate[i]})) * up_before[i], 2e-5);
  }
}

TEST(Softcap, AgreesWithBinary64) {
  SplitMix random(2);
  const std::vector<float> x = random.Uniforms(1000, 200.0f);
  std::vector<float> y(1000);
  Softcap(x.data(), 1000, 30.0f, y.data());
  for (int i = 0; i < 1000; ++i) EXPECT_NEAR(y[i], 30 * std::tanh(x[i] / 30.0), 1e-5);
}

}  // namespace
}  // namespace verbatim::reference
