// DispatchLog: what a backend ran for each linear, for probes that compare routes. Not a profiler.
// Thread rule: written by the backend's caller, read between calls.
#ifndef VERBATIM_OPS_DISPATCH_H_
#define VERBATIM_OPS_DISPATCH_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/weights.h"
#include "ops/routes.h"

namespace verbatim::ops {

struct DispatchRecord {
  std::string_view kernel;
  OrderId order = OrderId::kDenseSegments8;
  WeightFormat format;
  int num_rows = 0;          // M
  int64_t out_features = 0;  // N
  int64_t in_features = 0;   // K
  int num_row_tiles = 0;     // passes over a tile of weights
  int num_tasks = 0;         // into which the whole call was split
};

class DispatchLog {
 public:
  // Keeps the first `capacity` records since Clear; later ones are only counted, so that recording
  // never allocates.
  explicit DispatchLog(size_t capacity) { records_.reserve(capacity); }

  void Add(const DispatchRecord& record) {
    ++num_seen_;
    if (records_.size() < records_.capacity()) records_.push_back(record);
  }
  void Clear() {
    records_.clear();
    num_seen_ = 0;
  }
  std::span<const DispatchRecord> records() const { return records_; }
  int64_t num_seen() const { return num_seen_; }

 private:
  std::vector<DispatchRecord> records_;
  int64_t num_seen_ = 0;
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_DISPATCH_H_
