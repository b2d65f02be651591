// Products of oneDNN: Y = X * W^T for one thread, as the library chooses for each number of rows.
// Not the cutting of a call into such products (vendor_backend.cc).
//
// oneDNN's own threads (OpenMP) stay unused: beside the backend's pool they would be a second team
// on the same cores, each spinning while the other works. A thread of the pool runs products of its
// own instead, over its own part of the outputs.
#ifndef VERBATIM_BACKEND_VENDOR_PRODUCTS_H_
#define VERBATIM_BACKEND_VENDOR_PRODUCTS_H_

#include <cstddef>
#include <cstdint>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "base/aligned_buffer.h"

namespace verbatim::vendor {

// The type of both inputs of a product; sums are binary32.
enum class ProductType : uint8_t { kF32, kBF16 };

inline int64_t ElementBytes(ProductType type) { return type == ProductType::kF32 ? 4 : 2; }

// "2.6.3"
std::string LibraryVersion();
// bf16 where the processor multiplies it (AVX512_BF16, AMX); elsewhere oneDNN widens it in every
// product, which is slower than binary32.
bool HasFastBf16();
const dnnl::engine& CpuEngine();

// Weights [N, K]: as rows, and in the form that the library prefers.
dnnl::memory::desc PlainWeights(ProductType type, int64_t num_outputs, int64_t in_features);
dnnl::memory::desc PackedWeights(ProductType type, int64_t num_outputs, int64_t in_features);

// Elements from the beginning of a matrix to w[n][k] in the form that `desc` describes.
int64_t ElementOffset(const dnnl::memory::desc& desc, int64_t n, int64_t k);

// While it lives, calls of oneDNN on this thread start no others.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

struct ProductShape {
  ProductType type;
  int num_rows;         // M
  int64_t num_outputs;  // N
  int64_t in_features;  // K
  bool plain;           // form of the weights
  auto Key() const { return std::tuple(type, num_rows, num_outputs, in_features, plain); }
};

// The products of one thread. They are made when a shape first occurs, and kept.
class Products {
 public:
  // x [M, K] of the shape's type, y [M, N] f32, both dense. Returns the name that oneDNN gives the
  // code that ran; it lives as long as the process. Throws dnnl::error, std::bad_alloc.
  std::string_view Run(const ProductShape& shape, const void* x, const dnnl::memory& weights,
                       float* y);

 private:
  struct Product {
    dnnl::primitive primitive;
    dnnl::memory x, y;
    dnnl::memory::desc scratch;
    std::string_view kernel;
  };
  Product& Find(const ProductShape& shape, const dnnl::memory::desc& weights);

  using Key = decltype(std::declval<ProductShape>().Key());
  std::map<Key, Product> products_;
  std::unique_ptr<dnnl::stream> stream_;
  AlignedBuffer<std::byte> scratch_;
};

}  // namespace verbatim::vendor

#endif  // VERBATIM_BACKEND_VENDOR_PRODUCTS_H_
