// Dequantizing a matrix into the type of the products, and packing its parts.
#include "backend/vendor/vendor_linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <span>

#include "backend/cpu/pack.h"
#include "base/check.h"
#include "base/half.h"
#include "checkpoint/mlx_affine.h"

namespace verbatim::vendor {
namespace {

// oneDNN packs outputs in blocks of 16 to 64; parts end where blocks do.
constexpr int64_t kOutputBlock = 64;
// A part should be worth another thread's help, two barriers of 2 us: one row of so many weights
// takes 6 us from the caches at 40 products a ns (measured, bf16).
constexpr int64_t kMinPartWeights = int64_t{1} << 18;
// With two parts a thread, one that falls behind leaves a part to the others.
constexpr int64_t kPartsPerThread = 2;
// Rows of weights that are a page or longer: read as one stream each, a single row of activations
// took 0.67 to 0.9 of the time that the packed form took, where the weights came from memory
// (bf16 from K = 2048, f32 from K = 1024; shorter rows 1.2 to 2 times as long; decision 0011).
constexpr int64_t kMinPlainRowBytes = 4096;

ProductType TypeOf(const WeightFormat& format) {
  const bool bf16 = format.type == WeightType::kBF16 || format.type == WeightType::kAffine;
  return bf16 && HasFastBf16() ? ProductType::kBF16 : ProductType::kF32;
}

WeightFormat FormatOf(ProductType type) {
  return {.type = type == ProductType::kF32 ? WeightType::kF32 : WeightType::kBF16};
}

void StoreRow(std::span<const float> row, ProductType type, std::byte* out) {
  if (type == ProductType::kF32) {
    std::memcpy(out, row.data(), row.size_bytes());
    return;
  }
  auto* const halves = reinterpret_cast<uint16_t*>(out);
  for (size_t k = 0; k < row.size(); ++k) halves[k] = FloatToBf16(row[k]);
}

float ReadElement(const void* data, ProductType type, int64_t offset) {
  return type == ProductType::kF32 ? static_cast<const float*>(data)[offset]
                                   : Bf16ToFloat(static_cast<const uint16_t*>(data)[offset]);
}

}  // namespace

VendorLinear::VendorLinear(const WeightMatrix& matrix, ProductType type, int num_threads)
    : PreparedLinear(matrix.rows, matrix.cols, FormatOf(type)), type_(type) {
  const int64_t blocks = (matrix.rows + kOutputBlock - 1) / kOutputBlock;
  const int64_t most = num_threads == 1 ? 1 : kPartsPerThread * num_threads;
  const int64_t count =
      std::clamp<int64_t>(matrix.rows * matrix.cols / kMinPartWeights, 1, std::min(most, blocks));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = blocks * i / count * kOutputBlock;
    const int64_t end = std::min(matrix.rows, blocks * (i + 1) / count * kOutputBlock);
    parts_.emplace_back();
    parts_.back().first = first;
    parts_.back().num_outputs = end - first;
  }
}

bool VendorLinear::Fill(const WeightMatrix& matrix, Part& part) const {
  const OneThread one_thread;
  const int64_t row_bytes = matrix.cols * ElementBytes(type_);
  AlignedBuffer<std::byte> rows;
  std::byte* out = nullptr;
  if (part.plain.get(true) != nullptr) {
    out = static_cast<std::byte*>(part.plain.get_data_handle());
  } else {
    rows = AlignedBuffer<std::byte>(static_cast<size_t>(part.num_outputs * row_bytes));
    out = rows.data();
  }
  std::vector<float> row(static_cast<size_t>(matrix.cols));
  for (int64_t n = 0; n < part.num_outputs; ++n) {
    DequantizeRow(matrix, part.first + n, row);
    // Dense weights may be NaN, as for every other backend.
    if (matrix.format.type == WeightType::kAffine &&
        std::ranges::any_of(row, [](float w) { return std::isnan(w); })) {
      return false;
    }
    StoreRow(row, type_, out + n * row_bytes);
  }
  if (part.packed.get(true) == nullptr) return true;
  dnnl::memory plain(PlainWeights(type_, part.num_outputs, matrix.cols), CpuEngine(), out);
  dnnl::stream stream(CpuEngine());
  dnnl::reorder(plain, part.packed).execute(stream, plain, part.packed);
  stream.wait();
  return true;
}

Expected<std::unique_ptr<VendorLinear>> VendorLinear::Create(const WeightMatrix& matrix,
                                                             ThreadPool& pool,
                                                             HugePageArena& arena) {
  VERBATIM_RETURN_IF_ERROR(cpu::CheckMatrix(matrix));
  const ProductType type = TypeOf(matrix.format);
  const auto out_of_memory = [&] {
    return MakeError(StatusCode::kResourceExhausted, matrix.name,
                     fmt::format("{} bytes of memory for the matrix as oneDNN reads it",
                                 matrix.rows * matrix.cols * ElementBytes(type)),
                     "a failed allocation", "a smaller model, or --contract exact");
  };
  std::unique_ptr<VendorLinear> linear(new VendorLinear(matrix, type, pool.num_threads()));
  try {
    const OneThread one_thread;
    const auto allocate = [&](const dnnl::memory::desc& desc) {
      linear->memory_.push_back(arena.Allocate(desc.get_size()));
      return dnnl::memory(desc, CpuEngine(), linear->memory_.back().get());
    };
    for (Part& part : linear->parts_) {
      const auto plain = PlainWeights(type, part.num_outputs, matrix.cols);
      const auto packed = PackedWeights(type, part.num_outputs, matrix.cols);
      if (packed != plain) part.packed = allocate(packed);
      if (packed == plain || matrix.cols * ElementBytes(type) >= kMinPlainRowBytes) {
        part.plain = allocate(plain);
      }
      linear->bytes_ += static_cast<int64_t>((packed != plain ? packed : plain).get_size());
    }
    std::atomic<bool> numbers{true};
    std::atomic<bool> memory{true};
    pool.Run(static_cast<int64_t>(linear->parts_.size()), [&](int64_t i, int) {
      try {
        if (!linear->Fill(matrix, linear->parts_[static_cast<size_t>(i)])) numbers.store(false);
      } catch (const std::exception&) {  // neither may leave a thread of the pool
        memory.store(false);
      }
    });
    if (!memory.load()) return out_of_memory();
    if (!numbers.load()) {
      return MakeError(StatusCode::kCorrupt, matrix.name, "scales and biases that are numbers",
                       "NaN", "downloading the checkpoint again");
    }
  } catch (const std::exception&) {  // std::bad_alloc; dnnl::error: the shapes are legal
    return out_of_memory();
  }
  return linear;
}

void VendorLinear::ReadRow(int64_t n, float* out) const {
  VERBATIM_CHECK(n >= 0 && n < out_features());
  const auto part = std::ranges::find_if(
      parts_, [n](const Part& candidate) { return n < candidate.first + candidate.num_outputs; });
  const bool plain = part->plain.get(true) != nullptr;
  const dnnl::memory& weights = plain ? part->plain : part->packed;
  const void* const data = weights.get_data_handle();
  const dnnl::memory::desc desc = weights.get_desc();
  for (int64_t k = 0; k < in_features(); ++k) {
    out[k] = ReadElement(data, type_, ElementOffset(desc, n - part->first, k));
  }
}

}  // namespace verbatim::vendor
