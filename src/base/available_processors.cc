// sched_getaffinity and /sys/fs/cgroup/cpu.max. std::thread::hardware_concurrency counts what the
// machine has, whatever this process may use.
#include "base/available_processors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

namespace verbatim {
namespace {

int ProcessorsOfAffinity() {
  // The kernel refuses a set that is smaller than its own.
  constexpr int kMostProcessors = 1 << 16;
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  for (int processors = CPU_SETSIZE; processors <= kMostProcessors; processors *= 2) {
    const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(processors));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(processors);
    if (sched_getaffinity(0, bytes, set.get()) == 0) return CPU_COUNT_S(bytes, set.get());
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int ProcessorsOfQuota(std::string_view cpu_max) {
  int64_t quota = 0;
  int64_t period = 0;
  const char* const begin = cpu_max.data();
  const char* const end = begin + cpu_max.size();
  const auto first = std::from_chars(begin, end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc() || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>((quota - 1) / period + 1, INT32_MAX));
}

int AvailableProcessors() {
  int processors = std::max(1, ProcessorsOfAffinity());
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string line;
  if (std::getline(file, line)) {
    if (const int quota = ProcessorsOfQuota(line); quota > 0) {
      processors = std::min(processors, quota);
    }
  }
  return processors;
}

}  // namespace verbatim
