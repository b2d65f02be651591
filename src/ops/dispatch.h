// DispatchLog: what a backend ran for each call of an op, for probes that compare routes. Not a
// profiler. Thread rule: written by the backend's caller, read between calls.
#ifndef VERBATIM_OPS_DISPATCH_H_
#define VERBATIM_OPS_DISPATCH_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/weights.h"
#include "ops/routes.h"

namespace verbatim::ops {

// The operations of Backend that compute.
enum class Op : uint8_t {
  kEmbed,
  kRmsNorm,
  kLinear,
  kSiluMul,
  kRopeAndCache,
  kAttention,
  kConvAndGatedDelta,
  kFoldRecords,
  kGatedNorm,
  kBestLogits,
};
inline constexpr size_t kNumOps = 10;
std::string_view OpName(Op op);  // "embed", "rms_norm", ... as the methods of Backend, snake_case

struct DispatchRecord {
  Op op = Op::kLinear;
  std::string_view family;  // the code that ran
  std::string_view kernel;  // its instance, which may go by the number of rows
  OrderId order = OrderId::kNoSum;
  int split = 1;             // parts that each sum is cut into; kAttention: slots of a part
  WeightFormat format = {};  // of kLinear and kEmbed
  int num_rows = 0;          // M
  int64_t out_features = 0;  // N of kLinear; else the width of a row
  int64_t in_features = 0;   // K of kLinear; else 0
  int num_row_tiles = 1;     // passes over a tile of weights
  int num_tasks = 1;         // into which the whole call was split
};

// Whether two calls take the same code in the same order: what must agree between a block and its
// rows one by one.
inline bool SameRoute(const DispatchRecord& a, const DispatchRecord& b) {
  return a.family == b.family && a.order == b.order && a.split == b.split;
}

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
