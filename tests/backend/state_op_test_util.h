// What the tests of norms, rope, attention and the gated delta rule share: targets, a runner for
// OpKernels, hostile inputs, and comparison bit for bit. Not for linears.
#ifndef VERBATIM_TESTS_BACKEND_STATE_OP_TEST_UTIL_H_
#define VERBATIM_TESTS_BACKEND_STATE_OP_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/targets.h"
#include "base/aligned_buffer.h"
#include "base/half.h"
#include "base/thread_pool.h"
#include "tests/support/sample_size.h"

namespace verbatim::cpu {

inline std::vector<Target> TestTargets() { return TargetsFor(DetectCpuFeatures()); }

// The tables of this file's ops, without the linears.
inline KernelTable StateOpTable(Target target) {
  KernelTable table;
  FillNormKernels(target, table);
  FillElementwiseKernels(target, table);
  FillRopeKernels(target, table);
  FillAttentionKernels(target, table);
  FillGatedDeltaKernels(target, table);
  FillBestLogitsKernels(target, table);
  return table;
}

// How an op is run. No result may depend on any of it.
struct RunPlan {
  int threads = 1;
  int64_t items_per_task = 0;  // 0: what the kernel asks for
};
inline constexpr RunPlan kRunPlans[] = {{1, 1 << 20}, {1, 1}, {2, 0}, {3, 3}};

// All of them; in a sanitizer's build one, by turns of the caller's cases.
inline std::span<const RunPlan> RunPlansOf(size_t index) {
  return std::span(kRunPlans).subspan(testing::Sampled<size_t>(0, index % 4),
                                      testing::Sampled<size_t>(4, 1));
}

// Scratch is filled with NaN before an op, as its contents are undefined.
template <typename Args>
void RunOp(const OpKernel<Args>& kernel, const Args& args, const ops::WorkspaceNeeds& needs,
           const RunPlan& plan) {
  const size_t shared_bytes = kernel.shared_bytes == nullptr ? 0 : kernel.shared_bytes(needs);
  size_t thread_bytes = kernel.thread_bytes == nullptr ? 0 : kernel.thread_bytes(needs);
  thread_bytes = (thread_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  AlignedBuffer<std::byte> shared(shared_bytes);
  AlignedBuffer<std::byte> thread(thread_bytes * plan.threads);
  std::fill_n(shared.data(), shared.size(), std::byte{0xff});
  std::fill_n(thread.data(), thread.size(), std::byte{0xff});
  ThreadPool pool(plan.threads);
  for (const auto& phase : kernel.phases) {
    if (phase.run == nullptr) return;
    const int64_t items = phase.num_items(args);
    const int64_t per_task =
        plan.items_per_task == 0 ? phase.items_per_task(args) : plan.items_per_task;
    ASSERT_GE(per_task, 1);
    pool.Run((items + per_task - 1) / per_task, [&](int64_t task, int t) {
      const Workspace workspace = {shared.data(), thread.data() + thread_bytes * t};
      phase.run(args, task * per_task, std::min(items, (task + 1) * per_task), workspace);
    });
  }
}

enum class Inputs { kOrdinary, kHuge, kTiny, kZeros, kAnyBits, kSpecials };
inline constexpr Inputs kAllInputs[] = {Inputs::kOrdinary, Inputs::kHuge,    Inputs::kTiny,
                                        Inputs::kZeros,    Inputs::kAnyBits, Inputs::kSpecials};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  int Int(int first, int last) { return std::uniform_int_distribution<int>(first, last)(engine_); }
  float Ordinary() { return std::normal_distribution<float>()(engine_); }

  float Value(Inputs inputs) {
    const uint32_t bits = engine_();
    switch (inputs) {
      case Inputs::kOrdinary:
        return Ordinary();
      case Inputs::kHuge:  // squares overflow now and then
        return std::ldexp(Ordinary(), Int(50, 127));
      case Inputs::kTiny:  // denormals, and squares that underflow
        return std::ldexp(Ordinary(), Int(-149, -60));
      case Inputs::kZeros:
        return Int(0, 3) == 0 ? Ordinary() : std::copysign(0.0f, Ordinary());
      case Inputs::kAnyBits: {  // finite
        const float value = std::bit_cast<float>(bits);
        return std::isfinite(value) ? value : 1.0f;
      }
      case Inputs::kSpecials: {
        static constexpr float kInfinity = std::numeric_limits<float>::infinity();
        static constexpr float kSpecials[] = {kInfinity,
                                              -kInfinity,
                                              std::numeric_limits<float>::quiet_NaN(),
                                              -0.0f,
                                              std::numeric_limits<float>::max(),
                                              std::numeric_limits<float>::denorm_min()};
        return Int(0, 40) == 0 ? kSpecials[bits % std::size(kSpecials)] : Ordinary();
      }
    }
    return 0;
  }
  void Fill(std::span<float> values, Inputs inputs) {
    for (float& value : values) value = Value(inputs);
  }
  std::vector<float> Values(size_t n, Inputs inputs = Inputs::kOrdinary) {
    std::vector<float> values(n);
    Fill(values, inputs);
    return values;
  }

 private:
  std::mt19937 engine_;
};

// Equal bits, all NaNs one value.
inline ::testing::AssertionResult SameBits(std::span<const float> expected,
                                           std::span<const float> received) {
  if (expected.size() != received.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (CanonicalBits(expected[i]) != CanonicalBits(received[i])) {
      return ::testing::AssertionFailure()
             << "at " << i << " of " << expected.size() << ": expected " << expected[i] << " ("
             << std::hex << CanonicalBits(expected[i]) << "), received " << received[i] << " ("
             << CanonicalBits(received[i]) << ")";
    }
  }
  return ::testing::AssertionSuccess();
}

inline std::vector<int> AllRowCounts() {
  std::vector<int> counts;
  // Sanitizers: every tile size, and then each fifth, which is coprime to the tiles and run plans.
  for (int rows = 1; rows <= 64; rows += rows < 17 ? 1 : testing::Sampled(1, 5)) {
    counts.push_back(rows);
  }
  for (const int rows : {64, 65, 257, 513}) {
    if (rows > counts.back() && rows <= testing::Sampled(513, 257)) counts.push_back(rows);
  }
  return counts;
}

}  // namespace verbatim::cpu

#endif  // VERBATIM_TESTS_BACKEND_STATE_OP_TEST_UTIL_H_
