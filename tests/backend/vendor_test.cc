// Products of a vendor's library behind `--contract greedy`: right within their bound, and not the
// same for a block's rows as for the rows alone. The second is the negative control of every check
// that compares blocks with rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "backend/create_backend.h"
#include "backend/vendor/vendor_backend.h"
#include "base/half.h"
#include "checkpoint/mlx_affine.h"
#include "tests/backend/linear_cases.h"

namespace verbatim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::unique_ptr<ops::Backend> Greedy(int num_threads = 1) {
  auto backend = CreateBackend({.contract = ContractMode::kGreedy, .num_threads = num_threads});
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  return *std::move(backend);
}

#define SKIP_WITHOUT_VENDOR() \
  if (const Status vendor = vendor::CheckVendor(); !vendor.ok()) GTEST_SKIP() << vendor.message()

// A matrix of ordinary weights in a checkpoint's format.
class Matrix {
 public:
  Matrix(const WeightFormat& format, int64_t rows, int64_t cols, uint32_t seed) {
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal(0, 0.05f);
    std::vector<float> values(static_cast<size_t>(rows * cols));
    for (float& value : values) value = normal(rng);
    const auto bytes = std::as_bytes(std::span(values));
    view_.name = "w";
    view_.format.type = WeightType::kF32;
    view_.rows = rows;
    view_.cols = cols;
    if (format.type == WeightType::kAffine) {
      view_.data = bytes;
      affine_ = *QuantizeAffine(view_, {.bits = format.bits, .group_size = format.group_size});
      view_ = affine_.View("w");
    } else if (format.type == WeightType::kF32) {
      data_.assign(bytes.begin(), bytes.end());
      view_.data = data_;
    } else {
      for (const float value : values) {
        const uint16_t half =
            format.type == WeightType::kBF16 ? FloatToBf16(value) : FloatToF16(value);
        const auto both = std::as_bytes(std::span(&half, 1));
        data_.insert(data_.end(), both.begin(), both.end());
      }
      view_.format = format;
      view_.data = data_;
    }
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  const WeightMatrix& view() const { return view_; }

 private:
  WeightMatrix view_;
  AffineMatrix affine_;
  std::vector<std::byte> data_;
};

std::vector<float> Rows(int64_t count, int64_t width, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(count * width));
  for (float& value : x) value = normal(rng);
  return x;
}

float Rounded(float value, WeightType type) {
  return type == WeightType::kBF16 ? Bf16ToFloat(FloatToBf16(value)) : value;
}

// A sum in binary64 and the sum of its magnitudes.
struct Exact {
  double sum = 0;
  double magnitude = 0;
};

// y[n] of `x` by the inputs that products take: both rounded to `type`.
Exact ExactProduct(const WeightMatrix& matrix, int64_t n, const float* x, WeightType type) {
  std::vector<float> w(static_cast<size_t>(matrix.cols));
  DequantizeRow(matrix, n, w);
  Exact exact;
  for (int64_t k = 0; k < matrix.cols; ++k) {
    const double product = double{Rounded(x[k], type)} * Rounded(w[static_cast<size_t>(k)], type);
    exact.sum += product;
    exact.magnitude += std::fabs(product);
  }
  return exact;
}

// |error| of K products summed in binary32 in any order, with one rounding for each product and
// each addition at most: gamma_2K = 2K*u / (1 - 2K*u), u = 2^-24.
double Gamma(int64_t cols) {
  const double nu = 2 * static_cast<double>(cols) * 0x1p-24;
  return nu / (1 - nu);
}

std::vector<WeightFormat> Formats() {
  std::vector<WeightFormat> formats = {
      {.type = WeightType::kF32}, {.type = WeightType::kBF16}, {.type = WeightType::kF16}};
  for (const int bits : {2, 4, 8}) {
    formats.push_back({.type = WeightType::kAffine,
                       .bits = bits,
                       .group_size = 64,
                       .scale_type = WeightType::kF32});
  }
  return formats;
}

TEST(VendorTest, ProductsAreWithinTheirBound) {
  SKIP_WITHOUT_VENDOR();
  // Few and many outputs, not all of them whole blocks of 64; rows of weights shorter and longer
  // than a page; more than one part, and more rows than one product takes.
  const struct {
    int64_t rows, cols;
    int num_rows;
  } cases[] = {{4, 384, 3},   {100, 64, 70},   {16, 4352, 1},
               {16, 4352, 2}, {1000, 1088, 1}, {1000, 1088, 5}};
  for (const int threads : {1, 2}) {
    const auto backend = Greedy(threads);
    for (const WeightFormat& format : Formats()) {
      for (const auto& c : cases) {
        SCOPED_TRACE(testing::Message() << cpu::Describe(format) << " " << c.rows << "x" << c.cols
                                        << " rows " << c.num_rows << " threads " << threads);
        const Matrix matrix(format, c.rows, c.cols, 7);
        const auto linear = backend->PrepareLinear(matrix.view());
        ASSERT_TRUE(linear.ok()) << linear.status().message();
        const WeightType type = (*linear)->format().type;
        const int64_t stride = c.cols + 3;
        const std::vector<float> x = Rows(c.num_rows, stride, 11);
        std::vector<float> y(static_cast<size_t>(c.num_rows * c.rows));
        const ops::LinearTask task = {
            .weights = linear->get(), .out = y.data(), .out_stride = c.rows};
        backend->Linear({.x = x.data(),
                         .x_stride = stride,
                         .num_rows = c.num_rows,
                         .tasks = std::span(&task, 1)});
        for (int64_t r = 0; r < c.num_rows; ++r) {
          for (int64_t n = 0; n < c.rows; n += 1 + c.rows / 40) {
            const Exact exact =
                ExactProduct(matrix.view(), n, &x[static_cast<size_t>(r * stride)], type);
            ASSERT_NEAR(y[static_cast<size_t>(r * c.rows + n)], exact.sum,
                        Gamma(c.cols) * exact.magnitude)
                << r << " " << n;
          }
        }
      }
    }
  }
}

TEST(VendorTest, SeveralTasksResidualsAndFirstOutputs) {
  SKIP_WITHOUT_VENDOR();
  constexpr int64_t kCols = 512;
  constexpr int64_t kOutputs = 1300;  // three parts with two threads
  constexpr int kRows = 5;
  const auto backend = Greedy(2);
  const Matrix half({.type = WeightType::kBF16}, kOutputs, kCols, 1);
  const Matrix full({.type = WeightType::kF32}, kOutputs, kCols, 2);
  const auto first = *backend->PrepareLinear(half.view());
  const auto second = *backend->PrepareLinear(full.view());
  const std::vector<float> x = Rows(kRows, kCols, 3);
  const auto run = [&](std::initializer_list<ops::LinearTask> tasks) {
    backend->Linear(
        {.x = x.data(), .x_stride = kCols, .num_rows = kRows, .tasks = std::span(tasks)});
  };
  constexpr int64_t kStride = kOutputs + 20;
  std::vector<float> a(kRows * kStride, 9.0f);
  std::vector<float> b(kRows * kStride, 9.0f);
  run({{.weights = first.get(), .out = a.data(), .out_stride = kStride},
       {.weights = second.get(), .out = b.data(), .out_stride = kStride}});
  // In place of the residual, and the first outputs alone, in the way of the whole.
  std::vector<float> sum(a.size(), 0.5f);
  std::vector<float> part(a.size(), 9.0f);
  run({{.weights = first.get(), .out = sum.data(), .out_stride = kStride, .residual = sum.data()},
       {.weights = second.get(), .out = part.data(), .out_stride = kStride, .num_outputs = 720}});
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t n = 0; n < kStride; ++n) {
      const auto i = static_cast<size_t>(r * kStride + n);
      const bool inside = n < kOutputs;
      EXPECT_EQ(sum[i], inside ? a[i] + 0.5f : 0.5f) << r << " " << n;
      EXPECT_EQ(part[i], n < 720 ? b[i] : 9.0f) << r << " " << n;
      EXPECT_EQ(a[i] == 9.0f, !inside) << r << " " << n;
    }
  }
}

TEST(VendorTest, EmbedsItsOwnWeights) {
  SKIP_WITHOUT_VENDOR();
  const auto backend = Greedy(2);
  for (const WeightFormat& format : Formats()) {
    for (const int64_t cols : {192, 4160}) {
      const Matrix matrix(format, 300, cols, 5);
      const auto table = *backend->PrepareLinear(matrix.view());
      const std::vector<int32_t> ids = {299, 0, 64, 63};
      std::vector<float> out(ids.size() * static_cast<size_t>(cols));
      backend->Embed({.table = table.get(), .ids = ids, .out = out.data(), .out_stride = cols});
      std::vector<float> row(static_cast<size_t>(cols));
      for (size_t r = 0; r < ids.size(); ++r) {
        DequantizeRow(matrix.view(), ids[r], row);
        for (size_t k = 0; k < row.size(); ++k) {
          ASSERT_EQ(out[r * row.size() + k], Rounded(row[k], table->format().type))
              << cpu::Describe(format) << " " << ids[r] << " " << k;
        }
      }
    }
  }
}

// How many values of rows in blocks of T differ from the same rows alone, T = 2..32.
int64_t DifferingValues(ops::Backend& backend, const WeightMatrix& matrix) {
  const auto linear = *backend.PrepareLinear(matrix);
  constexpr int kMaxRows = 32;
  EXPECT_TRUE(backend.Reserve(cpu::Needs(kMaxRows, matrix.cols)).ok());
  const std::vector<float> x = Rows(kMaxRows, matrix.cols, 13);
  const auto run = [&](int first, int num_rows) {
    std::vector<float> y(static_cast<size_t>(num_rows * matrix.rows));
    const ops::LinearTask task = {
        .weights = linear.get(), .out = y.data(), .out_stride = matrix.rows};
    backend.Linear({.x = &x[static_cast<size_t>(first * matrix.cols)],
                    .x_stride = matrix.cols,
                    .num_rows = num_rows,
                    .tasks = std::span(&task, 1)});
    return y;
  };
  std::vector<float> alone;
  for (int row = 0; row < kMaxRows; ++row) {
    const std::vector<float> y = run(row, 1);
    alone.insert(alone.end(), y.begin(), y.end());
  }
  int64_t differing = 0;
  for (int rows = 2; rows <= kMaxRows; ++rows) {
    const std::vector<float> y = run(0, rows);
    for (size_t i = 0; i < y.size(); ++i) {
      differing += CanonicalBits(y[i]) == CanonicalBits(alone[i]) ? 0 : 1;
    }
  }
  return differing;
}

// The inputs' widths of tiny (384, 512, 1024), of Qwen3.5 0.8B (1024, 2048, 3584) and 27B (5120,
// 6144, 17408); few outputs, as each is a sum of its own.
TEST(VendorTest, BlocksDifferFromSingleRowsOnSomeShape) {
  SKIP_WITHOUT_VENDOR();
  const auto backend = Greedy();
  int64_t differing_shapes = 0;
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16}) {
    for (const int64_t cols : {384, 512, 1024, 2048, 3584, 5120, 6144, 17408}) {
      const Matrix matrix({.type = type}, 64, cols, 17);
      const int64_t differing = DifferingValues(*backend, matrix.view());
      RecordProperty("differing", std::to_string(differing));
      std::printf("%s, 64 outputs of %ld: %ld of %d values differ\n",
                  type == WeightType::kF32 ? "f32" : "bf16", static_cast<long>(cols),
                  static_cast<long>(differing), 64 * (32 * 33 / 2 - 1));
      differing_shapes += differing > 0 ? 1 : 0;
    }
  }
  if (differing_shapes == 0) {
    GTEST_SKIP() << "oneDNN's products of this processor are row-invariant on every shape here: "
                    "the planted breaks are the negative control";
  }
  // The control of the control: the exact backend shows nothing by the same comparison.
  const auto exact = *CreateBackend({.num_threads = 1});
  const Matrix matrix({.type = WeightType::kF32}, 64, 3584, 17);
  EXPECT_EQ(DifferingValues(*exact, matrix.view()), 0);
}

TEST(VendorTest, TheLogNamesTheLibraryAndItsKernels) {
  SKIP_WITHOUT_VENDOR();
  const auto backend = Greedy();
  EXPECT_EQ(backend->name(), "cpu+onednn");
  EXPECT_THAT(std::string(backend->numerics()), StartsWith("onednn.2."));
  EXPECT_THAT(std::string(backend->variance()), HasSubstr("oneDNN 2."));
  const Matrix matrix({.type = WeightType::kF32}, 128, 2048, 1);
  const auto linear = *backend->PrepareLinear(matrix.view());
  ops::DispatchLog log(8);
  backend->SetDispatchLog(&log);
  const std::vector<float> x = Rows(70, 2048, 1);
  std::vector<float> y(70 * 128);
  const ops::LinearTask task = {.weights = linear.get(), .out = y.data(), .out_stride = 128};
  for (const int rows : {1, 70}) {
    backend->Linear(
        {.x = x.data(), .x_stride = 2048, .num_rows = rows, .tasks = std::span(&task, 1)});
  }
  const int32_t id = 3;
  backend->Embed(
      {.table = linear.get(), .ids = std::span(&id, 1), .out = y.data(), .out_stride = 2048});
  ASSERT_EQ(log.records().size(), 3u);
  for (int i = 0; i < 2; ++i) {
    const ops::DispatchRecord& record = log.records()[static_cast<size_t>(i)];
    EXPECT_EQ(record.op, ops::Op::kLinear);
    EXPECT_EQ(record.family, "onednn");
    EXPECT_FALSE(record.kernel.empty());
    EXPECT_EQ(record.order, ops::OrderId::kUnknown);
    EXPECT_EQ(record.num_rows, i == 0 ? 1 : 70);
    EXPECT_EQ(record.out_features, 128);
    EXPECT_EQ(record.in_features, 2048);
    EXPECT_EQ(record.num_row_tiles, i == 0 ? 1 : 2);
  }
  EXPECT_EQ(log.records()[2].op, ops::Op::kEmbed);
  EXPECT_EQ(log.records()[2].num_rows, 1);
}

// oneDNN's own threads would spin beside ours.
TEST(VendorTest, StartsNoThreadsOfTheLibrary) {
  SKIP_WITHOUT_VENDOR();
  const auto num_threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto backend = Greedy(2);
  const auto before = num_threads();
  const Matrix matrix({.type = WeightType::kF32}, 2048, 1024, 1);
  const auto linear = *backend->PrepareLinear(matrix.view());
  const std::vector<float> x = Rows(64, 1024, 1);
  std::vector<float> y(64 * 2048);
  const ops::LinearTask task = {.weights = linear.get(), .out = y.data(), .out_stride = 2048};
  backend->Linear({.x = x.data(), .x_stride = 1024, .num_rows = 64, .tasks = std::span(&task, 1)});
  EXPECT_EQ(num_threads(), before);
}

TEST(VendorTest, RefusesWhatTheExactBackendRefuses) {
  SKIP_WITHOUT_VENDOR();
  const auto backend = Greedy();
  const Matrix matrix({.type = WeightType::kBF16}, 32, 64, 1);
  WeightMatrix shorter = matrix.view();
  shorter.rows = 33;
  EXPECT_EQ(backend->PrepareLinear(shorter).status().code(), StatusCode::kCorrupt);

  const Matrix affine({.type = WeightType::kAffine, .bits = 4, .group_size = 64}, 32, 64, 1);
  WeightMatrix seven = affine.view();
  seven.format.bits = 7;
  EXPECT_EQ(backend->PrepareLinear(seven).status().code(), StatusCode::kUnsupported);
  const std::vector<float> nans(32, std::numeric_limits<float>::quiet_NaN());
  WeightMatrix nan = affine.view();
  nan.scales = std::as_bytes(std::span(nans));
  const Status status = backend->PrepareLinear(nan).status();
  EXPECT_EQ(status.code(), StatusCode::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("NaN"));
}

// What the promise of `greedy` allows: a backend that is exact stays exact.
TEST(VendorTest, ABuildWithoutTheLibraryStaysExact) {
  const auto backend = Greedy();
  if (vendor::CheckVendor().ok()) {
    EXPECT_FALSE(backend->variance().empty());
  } else {
    EXPECT_EQ(backend->name(), "cpu");
    EXPECT_TRUE(backend->variance().empty());
    EXPECT_EQ(vendor::CheckVendor().code(), StatusCode::kUnsupported);
  }
  const auto exact = *CreateBackend({.num_threads = 1});
  EXPECT_EQ(exact->name(), "cpu");
  EXPECT_TRUE(exact->variance().empty());
  EXPECT_TRUE(exact->numerics().empty());
}

}  // namespace
}  // namespace verbatim
