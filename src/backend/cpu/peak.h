// PeakKernels: what this processor can do at most with the instructions that the kernels use. Not
// the kernels, and not the clock (measure/machine.h).
#ifndef VERBATIM_BACKEND_CPU_PEAK_H_
#define VERBATIM_BACKEND_CPU_PEAK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim::cpu {

// Loops over registers and first-level cache whose results can be checked. All of them are counted
// in operations of sixteen lanes: one fma of 16 binary32, or one block dot, which is 16 outputs
// times 4 values of K, however many instructions a target needs for it.
struct PeakKernels {
  static constexpr int kDotBlocks = 8;      // block dots of one row in a round
  static constexpr int kMaxDotRows = 8;     // rows share a block's weights, as in the linears
  static constexpr int kMaxFmaChains = 12;  // independent, to hide the latency

  // sum[c][lane] = fma(sum[c][lane], factors[lane], addends[lane]), `rounds` times, for every chain
  // c in [0, fma_chains); in and out: sums [fma_chains][16].
  void (*fma)(int64_t rounds, const float* factors, const float* addends, float* sums) = nullptr;
  int fma_chains = 0;  // fma per round

  // By the bits of the weights: sums[row][lane] += weights[block][lane][4] . x[block][row][4] over
  // all blocks, `rounds` times, wrapping. weights [kDotBlocks][16][4] unsigned below 2^bits, x
  // [kDotBlocks][dot_rows][4]. Null for numbers of bits that no kernel has.
  using Dot = void (*)(int64_t rounds, const std::byte* weights, const int8_t* x, int32_t* sums);
  std::array<Dot, 9> dot = {};
  int dot_rows = 0;  // kDotBlocks * dot_rows block dots per round

  // The exclusive or of all 64-bit words of data [streams][stream_bytes], read at `streams` places
  // in turn: 1, 2, 4 or 8. stream_bytes is a multiple of 256; data starts on a cache line.
  uint64_t (*read)(const std::byte* data, size_t stream_bytes, int streams) = nullptr;
};

// Errors: kInvalidArgument, kUnsupported: no such target, or not on this processor.
Expected<PeakKernels> PeakKernelsFor(std::string_view target);

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_PEAK_H_
