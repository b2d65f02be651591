// Work and Limit: what a step has to read and compute at least, and how fast this machine could do
// that (docs/benchmarking.md). Not a measurement.
#ifndef VERBATIM_MEASURE_WORK_H_
#define VERBATIM_MEASURE_WORK_H_

#include <array>
#include <cstdint>

#include "checkpoint/weights.h"

namespace verbatim {

// Operations of sixteen lanes (backend/cpu/peak.h) and bytes of weights.
struct Work {
  double bytes = 0;
  std::array<double, 9> dots = {};  // block dots by the bits of the weights
  double lane_ops = 0;  // fma, conversions and unpacking, all counted at the rate of fma

  Work& operator+=(const Work& other);
};

// A linear [out_features, in_features] over `num_rows` rows, in one pass over the weights. Per 16
// outputs and group of g values of K: num_rows * g/4 block dots, 4 operations per row (conversion
// of the int32 sum, scale * sx, two fma), the widening of scale and bias, and the unpacking of the
// group's bytes. Dense, per 2 values of K: 2 fma per row, and the widening of 16-bit weights.
// `bytes` is what the backend's packed form of the matrix takes.
Work LinearWork(const WeightFormat& format, int64_t out_features, int64_t in_features, int num_rows,
                int64_t bytes);

// Byte-vector operations (of 64 bytes) that take 32 values of K for 16 outputs out of planes of
// bits into bytes.
int UnpackOps(int bits);

// What the machine does per second, all threads together.
struct Peaks {
  double bytes = 0;
  double fmas = 0;                  // of sixteen lanes
  std::array<double, 9> dots = {};  // block dots by bits; 0 where unused
};

struct Limit {
  double memory_s = 0;
  double compute_s = 0;
  double seconds() const { return memory_s > compute_s ? memory_s : compute_s; }
  const char* bound() const { return memory_s > compute_s ? "memory" : "compute"; }
};

Limit LimitOf(const Work& work, const Peaks& peaks);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_WORK_H_
