// Backend: the operations as one interface that models call. A model never knows which backend it
// runs on. Thread rule: one caller at a time per backend; a backend may use threads inside.
#ifndef VERBATIM_OPS_BACKEND_H_
#define VERBATIM_OPS_BACKEND_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "ops/attention.h"
#include "ops/best_logits.h"
#include "ops/conv_and_gated_delta.h"
#include "ops/dispatch.h"
#include "ops/embed.h"
#include "ops/gather_rows.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/rope_and_cache.h"
#include "ops/silu_mul.h"
#include "verbatim/status.h"

namespace verbatim::ops {

// Zeroed memory that the backend's kernels can reach. Pointers inside args are into such buffers
// unless they say host.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* As() const {
    return static_cast<T*>(data_);
  }

 protected:
  DeviceBuffer(void* data, size_t bytes) : data_(data), bytes_(bytes) {}

 private:
  void* data_;
  size_t bytes_;
};

// The largest step that will be asked for, so that scratch is allocated once and never in a step.
struct WorkspaceNeeds {
  int max_rows = 0;
  int64_t max_in_features = 0;  // largest K of any linear
  RecurrentLayout recurrent;    // of the model's gated-delta layers; zero if there are none
  int num_heads = 0;
  int head_dim = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;    // "cpu"
  virtual std::string_view target() const = 0;  // instruction set, e.g. "avx512vnni"
  // The name under which bits are comparable, where they are not those of numerics.md; else empty.
  virtual std::string_view numerics() const { return {}; }
  // Why a row of a block may get other bits than alone, a sentence; empty: it never does.
  virtual std::string_view variance() const { return {}; }

  virtual Expected<std::unique_ptr<DeviceBuffer>> Allocate(size_t bytes) = 0;  // kResourceExhausted
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;
  virtual void CopyFromHost(void* device, const void* host, size_t bytes) = 0;
  // Repacks a matrix once; the WeightMatrix need not outlive the call. kCorrupt: NaN scales,
  // kUnsupported: format.
  virtual Expected<std::unique_ptr<PreparedLinear>> PrepareLinear(const WeightMatrix& matrix) = 0;
  virtual Status Reserve(const WorkspaceNeeds& needs) = 0;
  // From now on every call of an op leaves a record; null: none. The log outlives the backend or
  // the next call of this.
  virtual void SetDispatchLog(DispatchLog* log) = 0;

  virtual void Embed(const EmbedArgs& args) = 0;
  virtual void GatherRows(const GatherRowsArgs& args) = 0;
  virtual void RmsNorm(const RmsNormArgs& args) = 0;
  virtual void Linear(const LinearArgs& args) = 0;
  virtual void SiluMul(const SiluMulArgs& args) = 0;
  virtual void RopeAndCache(const RopeAndCacheArgs& args) = 0;
  virtual void Attention(const AttentionArgs& args) = 0;
  virtual void ConvAndGatedDelta(const ConvAndGatedDeltaArgs& args) = 0;
  virtual void FoldRecords(const FoldRecordsArgs& args) = 0;
  virtual void GatedNorm(const GatedNormArgs& args) = 0;
  virtual void BestLogits(const BestLogitsArgs& args) = 0;
  virtual void Synchronize() = 0;  // results of earlier calls are visible to the host
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_BACKEND_H_
