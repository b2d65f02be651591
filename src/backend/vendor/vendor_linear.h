// VendorLinear: a matrix as oneDNN's products read it. Not the products.
//
// The outputs are cut into parts, which threads take. A part is kept in the library's packed form,
// which serves every number of rows, and where its rows are long also as plain rows, since one row
// of activations is then multiplied faster from those.
#ifndef VERBATIM_BACKEND_VENDOR_VENDOR_LINEAR_H_
#define VERBATIM_BACKEND_VENDOR_VENDOR_LINEAR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/vendor/products.h"
#include "base/huge_page_arena.h"
#include "base/thread_pool.h"
#include "ops/linear.h"
#include "verbatim/status.h"

namespace verbatim::vendor {

class VendorLinear final : public ops::PreparedLinear {
 public:
  struct Part {
    int64_t first = 0;        // output
    int64_t num_outputs = 0;  // [num_outputs, K]
    dnnl::memory packed;      // empty where the library prefers plain rows for every product
    dnnl::memory plain;       // empty where packed serves a single row as well
    bool UsesPlain(int num_rows) const { return packed.get(true) == nullptr || OneRow(num_rows); }

   private:
    bool OneRow(int num_rows) const { return num_rows == 1 && plain.get(true) != nullptr; }
  };

  // kCorrupt: sizes that contradict the shape, a NaN scale or bias; kUnsupported: a format that no
  // backend has; kResourceExhausted: memory.
  static Expected<std::unique_ptr<VendorLinear>> Create(const WeightMatrix& matrix,
                                                        ThreadPool& pool, HugePageArena& arena);

  int64_t bytes() const override { return bytes_; }
  ProductType type() const { return type_; }
  const std::vector<Part>& parts() const { return parts_; }
  // w[n], widened. out [K]
  void ReadRow(int64_t n, float* out) const;

 private:
  VendorLinear(const WeightMatrix& matrix, ProductType type, int num_threads);
  // False: a weight is NaN. Throws dnnl::error, std::bad_alloc.
  bool Fill(const WeightMatrix& matrix, Part& part) const;

  ProductType type_;
  int64_t bytes_ = 0;
  std::vector<Part> parts_;
  std::vector<std::shared_ptr<std::byte>> memory_;
};

}  // namespace verbatim::vendor

#endif  // VERBATIM_BACKEND_VENDOR_VENDOR_LINEAR_H_
