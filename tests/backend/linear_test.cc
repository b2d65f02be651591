// Linears of the CPU backend: every kernel gives the reference's bits on every target, for any
// rows, threads and route.
#include "backend/cpu/linear.h"

#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels.h"
#include "base/float_environment.h"
#include "tests/backend/linear_cases.h"

namespace verbatim::cpu {
namespace {

constexpr int kMaxRows = 513;
constexpr int64_t kMaxInFeatures = 1152;

std::unique_ptr<ops::Backend> MakeBackend(CpuBackendOptions options) {
  auto backend = CreateCpuBackend(options);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  EXPECT_TRUE((*backend)->Reserve(Needs(kMaxRows, kMaxInFeatures)).ok());
  return std::move(backend).value();
}

std::unique_ptr<ops::PreparedLinear> Prepare(ops::Backend& backend, const WeightMatrix& matrix) {
  auto prepared = backend.PrepareLinear(matrix);
  EXPECT_TRUE(prepared.ok()) << prepared.status().message();
  return std::move(prepared).value();
}

class LinearTest : public testing::TestWithParam<std::string> {
 protected:
  // Runs the first M rows for each M in `row_counts` and compares with the reference.
  static void Check(ops::Backend& backend, const LinearCase& linear, const std::vector<float>& x,
                    const std::vector<int>& row_counts) {
    const int64_t rows = linear.matrix().rows;
    const int64_t cols = linear.matrix().cols;
    const auto prepared = Prepare(backend, linear.matrix());
    const int64_t max_rows = *std::max_element(row_counts.begin(), row_counts.end());
    const std::vector<float> expected = linear.Reference(x, max_rows);
    for (const int num_rows : row_counts) {
      std::vector<float> y(static_cast<size_t>(num_rows * rows), -1.0f);
      const ops::LinearTask task = {prepared.get(), y.data(), rows, nullptr};
      backend.Linear({x.data(), cols, num_rows, {&task, 1}});
      const int64_t at = FirstDifference(y.data(), expected.data(), num_rows * rows);
      ASSERT_EQ(at, -1) << Describe(linear.matrix().format) << " [" << rows << ", " << cols
                        << "], rows " << num_rows << ": row " << at / rows << " output "
                        << at % rows << " is " << y[static_cast<size_t>(at)] << ", expected "
                        << expected[static_cast<size_t>(at)];
    }
  }

  FloatEnvironment environment_;
};

INSTANTIATE_TEST_SUITE_P(Targets, LinearTest, testing::ValuesIn(AvailableTargets()),
                         [](const auto& param) { return param.param; });

TEST_P(LinearTest, EveryFormatEqualsTheReference) {
  const auto backend = MakeBackend({.target = GetParam()});
  uint32_t seed = 1;
  for (const WeightFormat& format : AllFormats()) {
    const int unit = format.type == WeightType::kAffine ? format.group_size : 32;
    for (const int groups : {1, 3, 9}) {  // fewer than 8: some segments are empty
      const int64_t rows = seed % 3 == 0 ? 7 : seed % 3 == 1 ? 16 : 37;
      const LinearCase linear(format, rows, int64_t{unit} * groups, ++seed);
      const std::vector<float> x = AdversarialRows(33, linear.matrix().cols, ++seed);
      ASSERT_NO_FATAL_FAILURE(Check(*backend, linear, x, {1, 2, 3, 4, 5, 7, 8, 11, 33}));
    }
  }
}

TEST_P(LinearTest, DenseInputsThatAreNoMultipleOf32) {
  const auto backend = MakeBackend({.target = GetParam()});
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kF16}) {
    for (const int64_t cols : {1, 2, 31, 33, 63, 100, 500}) {
      const LinearCase linear({.type = type}, 70, cols, static_cast<uint32_t>(cols));
      const std::vector<float> x = AdversarialRows(20, cols, 7);
      ASSERT_NO_FATAL_FAILURE(Check(*backend, linear, x, {1, 2, 3, 8, 20}));
    }
  }
}

TEST_P(LinearTest, EveryNumberOfRows) {
  const auto backend = MakeBackend({.target = GetParam()});
  std::vector<int> row_counts;
  for (int m = 1; m <= 65; ++m) row_counts.push_back(m);
  row_counts.push_back(257);
  row_counts.push_back(513);
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      const int width = 3 * group;  // fewer groups than segments: some segments are empty
      const LinearCase linear({.type = WeightType::kAffine, .bits = bits, .group_size = group}, 19,
                              width, static_cast<uint32_t>(bits));
      ASSERT_NO_FATAL_FAILURE(Check(*backend, linear, AdversarialRows(513, width, 3), row_counts));
    }
  }
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kF16}) {
    const LinearCase linear({.type = type}, 19, 70, 5);
    ASSERT_NO_FATAL_FAILURE(Check(*backend, linear, AdversarialRows(513, 70, 4), row_counts));
  }
}

TEST_P(LinearTest, EveryRouteEqualsTheReference) {
  for (const std::string_view kernel : ops::KernelNames()) {
    ops::DispatchLog log(64);
    const auto backend = MakeBackend({.target = GetParam(), .forced_route = std::string(kernel)});
    backend->SetDispatchLog(&log);
    for (const WeightFormat& format :
         {WeightFormat{.type = WeightType::kAffine, .bits = 4, .group_size = 64},
          WeightFormat{.type = WeightType::kAffine, .bits = 8, .group_size = 32},
          WeightFormat{.type = WeightType::kBF16}}) {
      log.Clear();
      const LinearCase linear(format, 83, 192, 11);
      ASSERT_NO_FATAL_FAILURE(
          Check(*backend, linear, AdversarialRows(33, 192, 12), {1, 2, 3, 5, 8, 13, 33}));
      bool exists = false;
      for (const ops::LinearRoute& route : ops::LinearRoutes()) {
        exists |= route.target == GetParam() && route.type == format.type && route.kernel == kernel;
      }
      ASSERT_EQ(log.records().size(), 7u);
      for (const ops::DispatchRecord& record : log.records()) {
        if (exists) {
          EXPECT_EQ(record.kernel, kernel);
        }
        EXPECT_EQ(record.order, format.type == WeightType::kAffine ? ops::OrderId::kAffineSegments8
                                                                   : ops::OrderId::kDenseSegments8);
      }
    }
  }
}

// A probe computes the first outputs of a large matrix alone: they are those of the whole.
TEST_P(LinearTest, TheFirstOutputsAlone) {
  const auto backend = MakeBackend({.num_threads = 2, .target = GetParam()});
  for (const WeightFormat& format :
       {WeightFormat{.type = WeightType::kAffine, .bits = 4, .group_size = 64},
        WeightFormat{.type = WeightType::kBF16}}) {
    constexpr int64_t kOutputs = 83;
    constexpr int64_t kCols = 192;
    const LinearCase linear(format, kOutputs, kCols, 31);
    const auto prepared = Prepare(*backend, linear.matrix());
    const std::vector<float> x = AdversarialRows(9, kCols, 32);
    const std::vector<float> expected = linear.Reference(x, 9);
    for (const int64_t num_outputs : {16, 48, 80, 96, 960}) {
      std::vector<float> y(9 * kOutputs, -1.0f);
      ops::LinearTask task = {prepared.get(), y.data(), kOutputs, nullptr, num_outputs};
      backend->Linear({x.data(), kCols, 9, {&task, 1}});
      for (int64_t r = 0; r < 9; ++r) {
        const int64_t count = std::min(num_outputs, kOutputs);
        EXPECT_EQ(FirstDifference(&y[r * kOutputs], &expected[r * kOutputs], count), -1);
        for (int64_t n = count; n < kOutputs; ++n) EXPECT_EQ(y[r * kOutputs + n], -1.0f);
      }
    }
  }
}

// Mixed formats in one call, several threads, strided rows, residuals that alias the output or do
// not.
TEST_P(LinearTest, MixedTasksThreadsStridesAndResiduals) {
  constexpr int64_t kCols = 384;
  const LinearCase cases[] = {
      {{.type = WeightType::kAffine, .bits = 4, .group_size = 64}, 600, kCols, 21},
      {{.type = WeightType::kAffine, .bits = 8, .group_size = 32}, 48, kCols, 22},
      {{.type = WeightType::kBF16}, 131, kCols, 23},
      {{.type = WeightType::kAffine, .bits = 6, .group_size = 128}, 4, kCols, 24},
      {{.type = WeightType::kAffine, .bits = 5, .group_size = 64}, 300, kCols, 25},
  };
  constexpr int64_t kXStride = kCols + 5;
  constexpr int kRows = 11;
  const std::vector<float> packed_x = AdversarialRows(kRows, kCols, 26);
  std::vector<float> x(kRows * kXStride, 1e30f);
  for (int r = 0; r < kRows; ++r) {
    std::copy_n(&packed_x[static_cast<size_t>(r * kCols)], kCols,
                &x[static_cast<size_t>(r * kXStride)]);
  }
  for (const int threads : {1, 2, 3}) {
    const auto backend = MakeBackend({.num_threads = threads, .target = GetParam()});
    std::vector<std::unique_ptr<ops::PreparedLinear>> prepared;
    std::vector<std::vector<float>> out, residual;
    std::vector<ops::LinearTask> tasks;
    for (size_t i = 0; i < std::size(cases); ++i) {
      prepared.push_back(Prepare(*backend, cases[i].matrix()));
      const int64_t stride = cases[i].matrix().rows + 3;
      residual.push_back(AdversarialRows(kRows, stride, static_cast<uint32_t>(30 + i)));
      out.push_back(residual.back());
    }
    for (size_t i = 0; i < std::size(cases); ++i) {
      const float* added = i % 3 == 0 ? out[i].data() : i % 3 == 1 ? residual[i].data() : nullptr;
      tasks.push_back({prepared[i].get(), out[i].data(), cases[i].matrix().rows + 3, added});
    }
    for (const int num_rows : {1, 3, kRows}) {
      for (size_t i = 0; i < std::size(cases); ++i)
        std::copy(residual[i].begin(), residual[i].end(), out[i].begin());
      backend->Linear({x.data(), kXStride, num_rows, tasks});
      for (size_t i = 0; i < std::size(cases); ++i) {
        const int64_t n = cases[i].matrix().rows;
        std::vector<float> expected = cases[i].Reference(packed_x, num_rows);
        for (int r = 0; r < kRows; ++r) {
          const float* before = &residual[i][static_cast<size_t>(r * (n + 3))];
          const float* after = &out[i][static_cast<size_t>(r * (n + 3))];
          if (r >= num_rows) {  // untouched
            ASSERT_EQ(FirstDifference(after, before, n + 3), -1);
            continue;
          }
          float* row = &expected[static_cast<size_t>(r * n)];
          if (i % 3 != 2) reference::AddResidual(before, n, row);
          ASSERT_EQ(FirstDifference(after, row, n), -1)
              << Describe(cases[i].matrix().format) << " threads " << threads << " row " << r;
          ASSERT_EQ(FirstDifference(after + n, before + n, 3), -1);  // nor the gap between rows
        }
      }
    }
  }
}

TEST_P(LinearTest, ARowAloneEqualsTheRowInAnyBlock) {
  constexpr int64_t kCols = 320;
  constexpr int64_t kOut = 90;
  const auto backend = MakeBackend({.num_threads = 2, .target = GetParam()});
  const std::vector<float> x = AdversarialRows(40, kCols, 41);
  for (const WeightFormat& format :
       {WeightFormat{.type = WeightType::kAffine, .bits = 4, .group_size = 64},
        WeightFormat{.type = WeightType::kF16}}) {
    const LinearCase linear(format, kOut, kCols, 42);
    const auto prepared = Prepare(*backend, linear.matrix());
    const auto run = [&](int first, int count) {
      std::vector<float> y(static_cast<size_t>(count * kOut));
      const ops::LinearTask task = {prepared.get(), y.data(), kOut, nullptr};
      backend->Linear({&x[static_cast<size_t>(first * kCols)], kCols, count, {&task, 1}});
      return y;
    };
    std::vector<std::vector<float>> alone;
    for (int r = 0; r < 40; ++r) alone.push_back(run(r, 1));
    for (const auto& [first, count] : {std::pair{0, 40}, {3, 2}, {5, 9}, {17, 16}, {23, 17}}) {
      const std::vector<float> block = run(first, count);
      for (int r = 0; r < count; ++r) {
        ASSERT_EQ(FirstDifference(&block[static_cast<size_t>(r * kOut)],
                                  alone[static_cast<size_t>(first + r)].data(), kOut),
                  -1);
      }
    }
  }
}

// Any number of rows is cut into tiles of up to row_tile rows, so all of those kernels must exist.
TEST(LinearKernels, EveryRouteHasItsKernels) {
  for (const Target target : TargetsFor(DetectCpuFeatures())) {
    const LinearKernels kernels = MakeKernels(target).linear;
    for (const ops::LinearRoute& route : ops::LinearRoutes()) {
      if (route.target != TargetName(target)) continue;
      for (size_t r = 0; r < static_cast<size_t>(route.row_tile); ++r) {
        if (route.type != WeightType::kAffine) {
          EXPECT_NE(kernels.dense[static_cast<size_t>(route.type)][r], nullptr);
          continue;
        }
        for (const size_t bits : {2, 3, 4, 5, 6, 8}) {
          EXPECT_NE(kernels.affine[bits][r], nullptr) << route.kernel << ", " << bits << " bits";
        }
      }
    }
  }
}

TEST(RowTiles, CoverEveryRowOnceInNearlyEqualTiles) {
  for (const int limit : {1, 2, 4, 8}) {
    for (int rows = 1; rows <= 70; ++rows) {
      const RowTiles tiles(rows, limit);
      int next = 0;
      for (int t = 0; t < tiles.count; ++t) {
        EXPECT_EQ(tiles.first(t), next);
        EXPECT_GE(tiles.size(t), 1);
        EXPECT_LE(tiles.size(t), limit);
        EXPECT_LE(tiles.size(0) - tiles.size(t), 1);
        for (int r = 0; r < tiles.size(t); ++r) EXPECT_EQ(tiles.tile_of(next++), t);
      }
      EXPECT_EQ(next, rows);
    }
  }
}

}  // namespace
}  // namespace verbatim::cpu
