// The CPU backend: threads, scratch and the kernel table of one target. Not the kernels.
#include "backend/cpu/cpu_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "backend/cpu/kernels.h"
#include "backend/cpu/linear.h"
#include "backend/cpu/pack.h"
#include "base/check.h"

namespace verbatim::cpu {
namespace {

using ops::Op;
using ops::OrderId;

class HostBuffer final : public ops::DeviceBuffer {
 public:
  explicit HostBuffer(AlignedBuffer<std::byte> memory)
      : DeviceBuffer(memory.data(), memory.size()), memory_(std::move(memory)) {}

 private:
  AlignedBuffer<std::byte> memory_;
};

size_t RoundUpToCacheLine(size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

class CpuBackend final : public ops::Backend {
 public:
  CpuBackend(Target target, std::shared_ptr<ThreadPool> pool, std::string forced_route)
      : target_(target),
        kernels_(MakeKernels(target)),
        shared_pool_(std::move(pool)),
        pool_(*shared_pool_),
        linear_(target, kernels_.linear, pool_, std::move(forced_route)) {}

  std::string_view name() const override { return "cpu"; }
  std::string_view target() const override { return TargetName(target_); }

  Expected<std::unique_ptr<ops::DeviceBuffer>> Allocate(size_t bytes) override {
    try {
      AlignedBuffer<std::byte> buffer(bytes);
      AdviseHugePages(buffer.data(), buffer.size());  // caches and states are read at every step
      return std::unique_ptr<ops::DeviceBuffer>(std::make_unique<HostBuffer>(std::move(buffer)));
    } catch (const std::bad_alloc&) {
      return OutOfMemory("buffer", bytes);
    }
  }
  void CopyToHost(void* host, const void* device, size_t bytes) override {
    std::memcpy(host, device, bytes);
  }
  void CopyFromHost(void* device, const void* host, size_t bytes) override {
    std::memcpy(device, host, bytes);
  }
  Expected<std::unique_ptr<ops::PreparedLinear>> PrepareLinear(
      const WeightMatrix& matrix) override {
    VERBATIM_ASSIGN_OR_RETURN(std::unique_ptr<PackedLinear> packed,
                              PackLinear(matrix, pool_, weights_));
    return std::unique_ptr<ops::PreparedLinear>(std::move(packed));
  }

  Status Reserve(const ops::WorkspaceNeeds& needs) override {
    size_t shared = 0;
    size_t thread = 0;
    const auto add = [&](const auto& kernel) {
      if (kernel.shared_bytes != nullptr) shared = std::max(shared, kernel.shared_bytes(needs));
      if (kernel.thread_bytes != nullptr) thread = std::max(thread, kernel.thread_bytes(needs));
    };
    add(kernels_.rms_norm);
    add(kernels_.gated_norm);
    add(kernels_.silu_mul);
    add(kernels_.rope_and_cache);
    add(kernels_.attention);
    add(kernels_.conv_and_gated_delta);
    add(kernels_.fold_records);
    add(kernels_.best_logits);
    const size_t stride = RoundUpToCacheLine(thread);
    const size_t threads = static_cast<size_t>(pool_.num_threads());
    try {
      linear_.Reserve(needs.max_rows, needs.max_in_features);
      shared_ = AlignedBuffer<std::byte>(shared);
      thread_ = AlignedBuffer<std::byte>(stride * threads);
    } catch (const std::bad_alloc&) {
      return OutOfMemory("workspace", shared + stride * threads);
    }
    thread_stride_ = stride;
    return {};
  }

  void SetDispatchLog(ops::DispatchLog* log) override {
    log_ = log;
    linear_.set_log(log);
  }

  void Embed(const ops::EmbedArgs& args) override { linear_.Embed(args); }
  void Linear(const ops::LinearArgs& args) override { linear_.Run(args); }
  void RmsNorm(const ops::RmsNormArgs& args) override {
    Log(Op::kRmsNorm, OrderId::kLanes64, 1, args.num_rows, args.width);
    RunOp(kernels_.rms_norm, args);
  }
  void GatedNorm(const ops::GatedNormArgs& args) override {
    Log(Op::kGatedNorm, OrderId::kLanes64, 1, args.num_rows,
        int64_t{args.num_heads} * args.head_dim);
    RunOp(kernels_.gated_norm, args);
  }
  void SiluMul(const ops::SiluMulArgs& args) override {
    Log(Op::kSiluMul, OrderId::kNoSum, 1, args.num_rows, args.width);
    RunOp(kernels_.silu_mul, args);
  }
  void RopeAndCache(const ops::RopeAndCacheArgs& args) override {
    Log(Op::kRopeAndCache, OrderId::kLanes64, 1, args.step.num_rows,
        int64_t{args.num_heads} * args.cache.layout.head_dim);
    RunOp(kernels_.rope_and_cache, args);
  }
  void Attention(const ops::AttentionArgs& args) override {
    Log(Op::kAttention, OrderId::kChunks256, ops::kPageSlots, args.step.num_rows,
        int64_t{args.num_heads} * args.cache.layout.head_dim);
    RunOp(kernels_.attention, args);
  }
  void ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) override {
    Log(Op::kConvAndGatedDelta, OrderId::kDeltaChains4, 1, args.step.num_rows,
        static_cast<int64_t>(args.state.layout.value_dim()));
    RunOp(kernels_.conv_and_gated_delta, args);
  }
  void FoldRecords(const ops::FoldRecordsArgs& args) override {
    Log(Op::kFoldRecords, OrderId::kDeltaChains4, 1, args.num_accepted_drafts,
        static_cast<int64_t>(args.state.layout.value_dim()));
    RunOp(kernels_.fold_records, args);
  }
  void BestLogits(const ops::BestLogitsArgs& args) override {
    Log(Op::kBestLogits, OrderId::kNoSum, 1, args.num_rows, args.vocab_size);
    RunOp(kernels_.best_logits, args);
  }
  void GatherRows(const ops::GatherRowsArgs& args) override {
    for (size_t i = 0; i < args.rows.size(); ++i) {
      std::memcpy(args.out + static_cast<int64_t>(i) * args.out_stride,
                  args.x + args.rows[i] * args.x_stride,
                  static_cast<size_t>(args.width) * sizeof(float));
    }
  }
  void Synchronize() override {}  // every call returns with its results in place

 private:
  static Status OutOfMemory(std::string_view what, size_t bytes) {
    return MakeError(StatusCode::kResourceExhausted, what, fmt::format("{} bytes of memory", bytes),
                     "a failed allocation", "a shorter context or smaller prefill chunks");
  }

  // An op has one kernel for any number of rows, which therefore goes by the op's name.
  void Log(Op op, OrderId order, int split, int num_rows, int64_t width) {
    if (log_ == nullptr) return;
    ops::DispatchRecord record;
    record.op = op;
    record.family = record.kernel = ops::OpName(op);
    record.order = order;
    record.split = split;
    record.num_rows = num_rows;
    record.out_features = width;
    log_->Add(record);
  }

  template <typename Args>
  void RunOp(const OpKernel<Args>& kernel, const Args& args) {
    VERBATIM_CHECK(kernel.phases[0].run != nullptr);
    for (const Phase<Args>& phase : kernel.phases) {
      if (phase.run == nullptr) return;
      const int64_t num_items = phase.num_items(args);
      const int64_t per_task = phase.items_per_task(args);
      pool_.Run((num_items + per_task - 1) / per_task, [&](int64_t task, int thread) {
        const Workspace workspace = {shared_.data(), thread_.data() + thread_stride_ * thread};
        phase.run(args, task * per_task, std::min(num_items, (task + 1) * per_task), workspace);
      });
    }
  }

  Target target_;
  ops::DispatchLog* log_ = nullptr;
  const KernelTable kernels_;
  const std::shared_ptr<ThreadPool> shared_pool_;
  ThreadPool& pool_;
  LinearRunner linear_;
  HugePageArena weights_;
  AlignedBuffer<std::byte> shared_;
  AlignedBuffer<std::byte> thread_;
  size_t thread_stride_ = 0;
};

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::vector<std::string> AvailableTargets() {
  std::vector<std::string> names;
  for (const Target target : TargetsFor(DetectCpuFeatures())) {
    names.emplace_back(TargetName(target));
  }
  return names;
}

Expected<std::unique_ptr<ops::Backend>> CreateCpuBackend(const CpuBackendOptions& options) {
  if (options.num_threads < 1) {
    return MakeError(StatusCode::kInvalidArgument, "threads", "at least 1",
                     fmt::format("{}", options.num_threads));
  }
  VERBATIM_ASSIGN_OR_RETURN(const Target target,
                            ChooseTarget(options.target, Environment("VERBATIM_TARGET"),
                                         TargetsFor(DetectCpuFeatures())));
  std::string route = options.forced_route;
  if (route.empty()) route = Environment("VERBATIM_FORCE_ROUTE");
  VERBATIM_RETURN_IF_ERROR(ops::CheckForcedRoute(route));
  try {
    std::shared_ptr<ThreadPool> pool = options.pool;
    if (pool == nullptr) pool = std::make_shared<ThreadPool>(options.num_threads);
    VERBATIM_CHECK(pool->num_threads() == options.num_threads);
    return std::unique_ptr<ops::Backend>(
        std::make_unique<CpuBackend>(target, std::move(pool), std::move(route)));
  } catch (const std::system_error& error) {
    return MakeError(StatusCode::kResourceExhausted, "threads",
                     fmt::format("{} threads", options.num_threads), error.what(), "fewer of them");
  }
}

}  // namespace verbatim::cpu
