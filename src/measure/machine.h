// Machine: read bandwidth and arithmetic peaks of this machine, measured. Not what a step needs of
// them (work.h).
#ifndef VERBATIM_MEASURE_MACHINE_H_
#define VERBATIM_MEASURE_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/peak.h"
#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "measure/statistics.h"
#include "verbatim/status.h"

namespace verbatim {

// Bytes of the last-level cache as the system tells; 0: it does not.
int64_t LastLevelCacheBytes();

struct ReadSetting {
  int threads = 1;
  int streams = 1;  // places that a thread reads in turn
};

class Machine {
 public:
  // `num_threads` is the engine's: the limit of a program is what its threads can do.
  // `buffer_bytes` is what the reads go over, see ReadBufferBytes. Errors: those of PeakKernelsFor,
  // kResourceExhausted.
  static Expected<std::unique_ptr<Machine>> Create(std::string_view target, int num_threads,
                                                   int64_t buffer_bytes);

  // One, half and all of the threads, by 1, 2, 4 and 8 streams.
  const std::vector<ReadSetting>& read_settings() const { return read_settings_; }
  int64_t buffer_bytes() const { return buffer_bytes_; }

  // Bytes per second over the first `bytes` of the buffer, read round and round: the fastest slice.
  double ReadRate(const ReadSetting& setting, int64_t bytes);
  // Operations of sixteen lanes per second, on all threads, once.
  double FmaRate();
  double DotRate(int bits);  // of block dots; bits that PeakKernels has

  // Keeps the loops alive; nobody reads it.
  uint64_t checksum() const { return checksum_; }

 private:
  Machine() = default;
  ThreadPool& Pool(int threads);
  template <typename Loop>
  double Rate(double operations_per_round, const Loop& loop);

  cpu::PeakKernels kernels_;
  int num_threads_ = 1;
  int64_t buffer_bytes_ = 0;
  AlignedBuffer<std::byte> buffer_;
  std::vector<ReadSetting> read_settings_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  uint64_t checksum_ = 0;
};

// Well beyond the last-level cache: eight times, at least 256 MiB (a cache that nobody told of), at
// most a quarter of the available memory.
int64_t ReadBufferBytes();

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_MACHINE_H_
