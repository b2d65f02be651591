// Cutting calls of the linear op into products of oneDNN.
#include "backend/vendor/vendor_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backend/observe/forwarding_backend.h"
#include "backend/vendor/products.h"
#include "backend/vendor/vendor_linear.h"
#include "base/check.h"
#include "base/half.h"

namespace verbatim::vendor {
namespace {

// More rows are several products. A product of 64 rows already runs at the rate of one of 256 (232
// and 230 GFLOP/s for bf16, 117 and 117 for f32), and its outputs stay in the caches.
constexpr int kMaxProductRows = 64;
// Converting a value costs about 0.5 ns: so many are 8 us, worth a barrier.
constexpr int64_t kMinParallelValues = 16'384;

// Part of the name of the numerics, in the form of NumericsName: goes up when matrices are
// converted or cut in another way.
constexpr int kFamilyVersion = 1;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

const VendorLinear& Prepared(const ops::PreparedLinear* weights) {
  return static_cast<const VendorLinear&>(*weights);  // a backend gets only what it prepared
}

int64_t NumParts(const ops::LinearTask& task) {
  const auto& parts = Prepared(task.weights).parts();
  return std::ranges::count_if(
      parts, [&](const VendorLinear::Part& part) { return part.first < task.width(); });
}

class VendorBackend final : public ForwardingBackend {
 public:
  VendorBackend(std::unique_ptr<ops::Backend> inner, std::shared_ptr<ThreadPool> pool)
      : ForwardingBackend(std::move(inner)),
        name_(fmt::format("{}+onednn", ForwardingBackend::name())),
        numerics_(fmt::format("onednn.{}.{}-{}", LibraryVersion(), HasFastBf16() ? "bf16" : "f32",
                              kFamilyVersion)),
        variance_(fmt::format("matrix products of oneDNN {}: rows of a block may round differently "
                              "than alone",
                              LibraryVersion())),
        pool_(std::move(pool)),
        threads_(static_cast<size_t>(pool_->num_threads())) {}

  std::string_view name() const override { return name_; }
  std::string_view numerics() const override { return numerics_; }
  std::string_view variance() const override { return variance_; }
  void SetDispatchLog(ops::DispatchLog* log) override {
    log_ = log;
    inner().SetDispatchLog(log);
  }
  Expected<std::unique_ptr<ops::PreparedLinear>> PrepareLinear(
      const WeightMatrix& matrix) override {
    VERBATIM_ASSIGN_OR_RETURN(std::unique_ptr<VendorLinear> linear,
                              VendorLinear::Create(matrix, *pool_, weights_));
    return std::unique_ptr<ops::PreparedLinear>(std::move(linear));
  }
  void Linear(const ops::LinearArgs& args) override;
  void Embed(const ops::EmbedArgs& args) override;

 private:
  struct Thread {
    Products products;
    AlignedBuffer<float> outputs;  // of a product that can't be written in place
  };

  // Activations of a call as products read them, [M, K] of the type; null: no task asks for it.
  using Inputs = std::array<const std::byte*, 2>;

  const std::byte* PrepareInput(const ops::LinearArgs& args, ProductType type);
  // A part's product over one piece of the rows.
  std::string_view RunPart(const ops::LinearArgs& args, const ops::LinearTask& task,
                           const VendorLinear::Part& part, int64_t first_row, const Inputs& inputs,
                           Thread& thread);

  std::string name_;
  std::string numerics_;
  std::string variance_;
  std::shared_ptr<ThreadPool> pool_;
  HugePageArena weights_;
  std::vector<Thread> threads_;
  std::array<AlignedBuffer<std::byte>, 2> inputs_;  // by ProductType
  std::vector<std::string_view> kernels_;           // of a call's tasks
  ops::DispatchLog* log_ = nullptr;
};

const std::byte* VendorBackend::PrepareInput(const ops::LinearArgs& args, ProductType type) {
  const int64_t cols = args.tasks.front().weights->in_features();
  if (type == ProductType::kF32 && (args.x_stride == cols || args.num_rows == 1)) {
    return reinterpret_cast<const std::byte*>(args.x);
  }
  AlignedBuffer<std::byte>& buffer = inputs_[static_cast<size_t>(type)];
  const int64_t row_bytes = cols * ElementBytes(type);
  const auto bytes = static_cast<size_t>(args.num_rows * row_bytes);
  if (bytes > buffer.size()) buffer = AlignedBuffer<std::byte>(bytes);
  const int64_t rows_per_task = CeilDiv(kMinParallelValues, cols);
  pool_->Run(CeilDiv(args.num_rows, rows_per_task), [&](int64_t task, int) {
    const int64_t end = std::min<int64_t>(args.num_rows, (task + 1) * rows_per_task);
    for (int64_t row = task * rows_per_task; row < end; ++row) {
      const float* x = args.x + row * args.x_stride;
      std::byte* out = buffer.data() + row * row_bytes;
      if (type == ProductType::kF32) {
        std::memcpy(out, x, static_cast<size_t>(row_bytes));
        continue;
      }
      auto* const halves = reinterpret_cast<uint16_t*>(out);
      for (int64_t k = 0; k < cols; ++k) halves[k] = FloatToBf16(x[k]);
    }
  });
  return buffer.data();
}

std::string_view VendorBackend::RunPart(const ops::LinearArgs& args, const ops::LinearTask& task,
                                        const VendorLinear::Part& part, int64_t first_row,
                                        const Inputs& inputs, Thread& thread) {
  const VendorLinear& linear = Prepared(task.weights);
  const int num_rows =
      static_cast<int>(std::min<int64_t>(kMaxProductRows, args.num_rows - first_row));
  const int64_t wanted = std::min(part.num_outputs, task.width() - part.first);
  float* const out = task.out + first_row * task.out_stride + part.first;
  const bool in_place = task.residual == nullptr && wanted == part.num_outputs &&
                        (num_rows == 1 || task.out_stride == part.num_outputs);
  float* y = out;
  if (!in_place) {
    const auto size = static_cast<size_t>(num_rows * part.num_outputs);
    if (size > thread.outputs.size()) thread.outputs = AlignedBuffer<float>(size);
    y = thread.outputs.data();
  }
  const ProductShape shape = {.type = linear.type(),
                              .num_rows = num_rows,
                              .num_outputs = part.num_outputs,
                              .in_features = linear.in_features(),
                              .plain = part.UsesPlain(num_rows)};
  const std::byte* x = inputs[static_cast<size_t>(shape.type)] +
                       first_row * shape.in_features * ElementBytes(shape.type);
  const std::string_view kernel =
      thread.products.Run(shape, x, shape.plain ? part.plain : part.packed, y);
  if (in_place) return kernel;
  for (int row = 0; row < num_rows; ++row) {
    float* const to = out + row * task.out_stride;
    const float* const from = y + row * part.num_outputs;
    if (task.residual == nullptr) {
      std::copy(from, from + wanted, to);
      continue;
    }
    const float* const residual = task.residual + (first_row + row) * task.out_stride + part.first;
    for (int64_t n = 0; n < wanted; ++n) to[n] = from[n] + residual[n];
  }
  return kernel;
}

void VendorBackend::Linear(const ops::LinearArgs& args) {
  if (args.tasks.empty()) return;
  VERBATIM_CHECK(args.num_rows >= 1);
  Inputs inputs = {};
  int64_t num_items = 0;
  const int64_t num_pieces = CeilDiv(args.num_rows, kMaxProductRows);
  for (const ops::LinearTask& task : args.tasks) {
    const VendorLinear& linear = Prepared(task.weights);
    const std::byte*& input = inputs[static_cast<size_t>(linear.type())];
    if (input == nullptr) input = PrepareInput(args, linear.type());
    num_items += NumParts(task) * num_pieces;
  }
  kernels_.resize(args.tasks.size());
  pool_->Run(num_items, [&](int64_t item, int thread) {
    size_t index = 0;
    for (int64_t of_task; item >= (of_task = NumParts(args.tasks[index]) * num_pieces); ++index) {
      item -= of_task;
    }
    const ops::LinearTask& task = args.tasks[index];
    const auto& part = Prepared(task.weights).parts()[static_cast<size_t>(item / num_pieces)];
    const std::string_view kernel = RunPart(args, task, part, item % num_pieces * kMaxProductRows,
                                            inputs, threads_[static_cast<size_t>(thread)]);
    if (item == 0) kernels_[index] = kernel;  // one thread has each task's first item
  });
  if (log_ == nullptr) return;
  for (size_t i = 0; i < args.tasks.size(); ++i) {
    const ops::PreparedLinear& weights = *args.tasks[i].weights;
    log_->Add({.op = ops::Op::kLinear,
               .family = "onednn",
               .kernel = kernels_[i],
               .order = ops::OrderId::kUnknown,
               .split = 1,
               .format = weights.format(),
               .num_rows = args.num_rows,
               .out_features = weights.out_features(),
               .in_features = weights.in_features(),
               .num_row_tiles = static_cast<int>(num_pieces),
               .num_tasks = static_cast<int>(num_items)});
  }
}

void VendorBackend::Embed(const ops::EmbedArgs& args) {
  const VendorLinear& table = Prepared(args.table);
  const auto num_rows = static_cast<int64_t>(args.ids.size());
  if (log_ != nullptr) {
    log_->Add({.op = ops::Op::kEmbed,
               .family = "onednn",
               .kernel = "rows of packed weights",
               .order = ops::OrderId::kNoSum,
               .split = 1,
               .format = table.format(),
               .num_rows = static_cast<int>(num_rows),
               .out_features = table.in_features()});
  }
  pool_->Run(num_rows, [&](int64_t row, int) {
    table.ReadRow(args.ids[static_cast<size_t>(row)], args.out + row * args.out_stride);
  });
}

}  // namespace

Status CheckVendor() { return {}; }

Expected<std::unique_ptr<ops::Backend>> CreateVendorBackend(std::unique_ptr<ops::Backend> inner,
                                                            std::shared_ptr<ThreadPool> pool) {
  return std::unique_ptr<ops::Backend>(
      std::make_unique<VendorBackend>(std::move(inner), std::move(pool)));
}

}  // namespace verbatim::vendor
