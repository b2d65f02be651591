// Every elementary function over all 2^32 inputs, on all cores (minutes; label slow). Prints the
// largest errors that docs/numerics.md records; the sampled version runs with the other tests.
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "tests/numerics/elementary_cases.h"

namespace verbatim {
namespace {

template <typename Case>
class AllInputs : public testing::Test {};

using AllCases = testing::Types<ExpCase, Expm1Case, LogCase, Log1pCase, SigmoidCase, SiluCase,
                                SoftplusCase, TanhCase, GeluTanhCase>;
struct CaseName {
  template <typename Case>
  static std::string GetName(int) {
    return Case::kName;
  }
};
TYPED_TEST_SUITE(AllInputs, AllCases, CaseName);

TYPED_TEST(AllInputs, StayWithinTheirBound) {
  constexpr int64_t kTasks = 256;  // a task is one value of the top byte: about a second
  constexpr uint32_t kPerTask = 1u << 24;
  ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  std::vector<MeasuredError> errors(kTasks);
  pool.Run(kTasks, [&](int64_t task, int) {
    MeasuredError error;
    for (uint32_t i = 0; i < kPerTask; ++i) {
      MeasureOne<TypeParam>(static_cast<uint32_t>(task) * kPerTask + i, error);
    }
    errors[task] = error;
  });
  MeasuredError total;
  for (const MeasuredError& error : errors) total.Merge(error);
  std::printf("%s: %.4f ulp at %a; %.3g * 2^-118 absolute at %a; %.4f * 2^-22 * |x| at %a\n",
              TypeParam::kName, total.ulp, total.ulp_at, total.absolute * 0x1p118,
              total.absolute_at, total.per_input * 0x1p22, total.per_input_at);
  EXPECT_EQ(total.violations, 0u) << "first at " << total.first_violation;
}

}  // namespace
}  // namespace verbatim
