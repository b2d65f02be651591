// Embedding rows read from packed matrices: every format, target and lane gives the reference's
// bits.
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "base/float_environment.h"
#include "tests/backend/linear_cases.h"

namespace verbatim::cpu {
namespace {

TEST(Embed, EveryFormatAndLaneOnEveryTarget) {
  const FloatEnvironment environment;
  constexpr int64_t kRows = 37;  // three tiles, the last one partial
  constexpr int64_t kStride = 390;
  for (const std::string& target : AvailableTargets()) {
    for (const int threads : {1, 2}) {
      auto backend = CreateCpuBackend({.num_threads = threads, .target = target});
      ASSERT_TRUE(backend.ok());
      for (const WeightFormat& format : AllFormats()) {
        const int64_t cols = format.type == WeightType::kAffine ? 384 : 381;
        const LinearCase table(format, kRows, cols, 3);
        const auto prepared = (*backend)->PrepareLinear(table.matrix());
        ASSERT_TRUE(prepared.ok());
        std::vector<int32_t> ids;
        for (int32_t id = 0; id < 2 * kRows; ++id) ids.push_back(id * 7 % kRows);
        std::vector<float> out(ids.size() * kStride, -3.0f);
        (*backend)->Embed(
            {.table = prepared->get(), .ids = ids, .out = out.data(), .out_stride = kStride});
        std::vector<float> expected(kStride, -3.0f);
        for (size_t r = 0; r < ids.size(); ++r) {
          table.ReferenceEmbed(ids[r], expected.data());
          ASSERT_EQ(FirstDifference(&out[r * kStride], expected.data(), kStride), -1)
              << target << ", " << Describe(format) << ", id " << ids[r];
        }
      }
    }
  }
}

TEST(GatherRows, CopiesTheChosenRows) {
  auto backend = CreateCpuBackend({});
  ASSERT_TRUE(backend.ok());
  const std::vector<float> x = {0, 1, 2, 10, 11, 12, 20, 21, 22};
  const std::vector<int32_t> rows = {2, 0, 2};
  std::vector<float> out(12, -1);
  (*backend)->GatherRows(
      {.x = x.data(), .x_stride = 3, .rows = rows, .width = 2, .out = out.data(), .out_stride = 4});
  EXPECT_EQ(out, (std::vector<float>{20, 21, -1, -1, 0, 1, -1, -1, 20, 21, -1, -1}));
}

}  // namespace
}  // namespace verbatim::cpu
