// Clocks around the peak kernels.
#include "measure/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <system_error>

#include "base/available_memory.h"
#include "measure/random_values.h"

namespace verbatim {
namespace {

using Clock = std::chrono::steady_clock;

// A task of reading: large enough to hide the pool's 2 us, small enough to even out threads.
constexpr int64_t kTaskBytes = int64_t{4} << 20;
// A measurement is the fastest of a few slices of milliseconds: whatever else the machine does
// makes some of them slower, nothing makes one faster than the machine is.
constexpr int kSlices = 5;
constexpr int64_t kSliceBytes = int64_t{64} << 20;
constexpr double kSliceSeconds = 0.004;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// From sysfs: inside a virtual machine, sysconf multiplies AMD's third level by cores that are not
// there.
int64_t LastLevelCacheBytes() {
  int64_t largest = 0;
  for (int index = 0;; ++index) {
    std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    int64_t size = 0;
    char unit = 'B';
    if (!(file >> size >> unit)) break;
    largest = std::max(largest, size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0));
  }
  return largest;
}

int64_t ReadBufferBytes() {
  const int64_t wanted = std::max(int64_t{256} << 20, 8 * LastLevelCacheBytes());
  const int64_t available = AvailableMemoryBytes();
  const int64_t bytes = available == 0 ? wanted : std::min(wanted, available / 4);
  return std::max(bytes / kTaskBytes, int64_t{1}) * kTaskBytes;
}

Expected<std::unique_ptr<Machine>> Machine::Create(std::string_view target, int num_threads,
                                                   int64_t buffer_bytes) {
  std::unique_ptr<Machine> machine(new Machine);
  VERBATIM_ASSIGN_OR_RETURN(machine->kernels_, cpu::PeakKernelsFor(target));
  machine->num_threads_ = num_threads;
  machine->buffer_bytes_ = std::max(buffer_bytes / kTaskBytes, int64_t{1}) * kTaskBytes;
  std::vector<int> threads = {1, num_threads / 2, num_threads};
  std::erase(threads, 0);
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  try {
    machine->buffer_ = AlignedBuffer<std::byte>(static_cast<size_t>(machine->buffer_bytes_));
    for (const int count : threads) {
      machine->pools_.push_back(std::make_unique<ThreadPool>(count));
      for (const int streams : {1, 2, 4, 8}) machine->read_settings_.push_back({count, streams});
    }
  } catch (const std::bad_alloc&) {
    return MakeError(StatusCode::kResourceExhausted, "bench",
                     fmt::format("{} MiB for the bandwidth buffer", machine->buffer_bytes_ >> 20),
                     "too little memory");
  } catch (const std::system_error& error) {
    return MakeError(StatusCode::kResourceExhausted, "threads",
                     fmt::format("{} threads", num_threads), error.what(), "fewer of them");
  }
  // Real pages: untouched ones are all the same page of zeros.
  machine->Pool(num_threads).Run(machine->buffer_bytes_ / kTaskBytes, [&](int64_t task, int) {
    FillRandomBytes(static_cast<uint64_t>(task), 0,
                    std::span(machine->buffer_.data() + task * kTaskBytes, kTaskBytes));
  });
  return machine;
}

ThreadPool& Machine::Pool(int threads) {
  for (const auto& pool : pools_) {
    if (pool->num_threads() == threads) return *pool;
  }
  return *pools_.back();
}

double Machine::ReadRate(const ReadSetting& setting, int64_t bytes) {
  // Streams of whole 256 bytes: the last bytes of a small model's size are left out.
  const int64_t task_bytes = std::min(kTaskBytes, bytes / setting.threads) /
                             (256 * setting.streams) * (256 * setting.streams);
  const int64_t num_tasks = std::min(bytes, buffer_bytes_) / task_bytes;
  const int64_t slice_tasks = std::max<int64_t>(setting.threads, kSliceBytes / task_bytes);
  std::atomic<uint64_t> sum{0};
  double best = 0;
  for (int slice = 0; slice < kSlices; ++slice) {
    const Clock::time_point start = Clock::now();
    Pool(setting.threads).Run(slice_tasks, [&](int64_t task, int) {
      // Each slice goes on where the one before ended.
      const int64_t place = (slice * slice_tasks + task) % num_tasks;
      sum ^= kernels_.read(buffer_.data() + place * task_bytes,
                           static_cast<size_t>(task_bytes / setting.streams), setting.streams);
    });
    best = std::max(best, static_cast<double>(slice_tasks * task_bytes) / SecondsSince(start));
  }
  checksum_ ^= sum;
  return best;
}

// loop(rounds) on every thread; `rounds` grows until a slice takes its time.
template <typename Loop>
double Machine::Rate(double operations_per_round, const Loop& loop) {
  ThreadPool& pool = Pool(num_threads_);
  // More tasks than threads: a thread that wakes late takes fewer.
  const int64_t num_tasks = int64_t{8} * num_threads_;
  double best = 0;
  int slices = 0;
  for (int64_t rounds = 256; slices < kSlices;) {
    const Clock::time_point start = Clock::now();
    pool.Run(num_tasks, [&](int64_t, int) { loop(rounds); });
    const double seconds = SecondsSince(start);
    if (seconds < kSliceSeconds && slices == 0) {
      rounds *= 2;
      continue;
    }
    ++slices;
    best = std::max(best, operations_per_round * static_cast<double>(rounds * num_tasks) / seconds);
  }
  return best;
}

double Machine::FmaRate() {
  return Rate(kernels_.fma_chains, [&](int64_t rounds) {
    // sum -> sum/2 + 1 stays near 2: no overflow, no denormals.
    float factors[16];
    float addends[16];
    float sums[cpu::PeakKernels::kMaxFmaChains * 16] = {};
    std::ranges::fill(factors, 0.5f);
    std::ranges::fill(addends, 1.0f);
    kernels_.fma(rounds, factors, addends, sums);
    std::atomic_ref(checksum_).fetch_xor(static_cast<uint64_t>(sums[0]));
  });
}

double Machine::DotRate(int bits) {
  using cpu::PeakKernels;
  return Rate(PeakKernels::kDotBlocks * kernels_.dot_rows, [&](int64_t rounds) {
    alignas(64) std::byte weights[PeakKernels::kDotBlocks * 64];
    alignas(64) int8_t x[PeakKernels::kDotBlocks * PeakKernels::kMaxDotRows * 4];
    int32_t sums[PeakKernels::kMaxDotRows * 16] = {};
    std::memset(weights, 1, sizeof(weights));
    // Of both signs, so that the sums stay small and never overflow.
    for (size_t i = 0; i < sizeof(x); ++i) x[i] = i % 2 == 0 ? 1 : -1;
    kernels_.dot[static_cast<size_t>(bits)](rounds, weights, x, sums);
    std::atomic_ref(checksum_).fetch_xor(static_cast<uint64_t>(sums[0]));
  });
}

}  // namespace verbatim
