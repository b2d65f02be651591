// GapHistogram: counts of top-2 gaps in octaves. Not quantiles.
#ifndef VERBATIM_MEASURE_GAP_HISTOGRAM_H_
#define VERBATIM_MEASURE_GAP_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace verbatim {

class GapHistogram {
 public:
  // Bin 0 has the exact ties, bin 1 + i the gaps of [2^(kLowest + i), 2^(kLowest + i + 1)); the
  // first and last octave also take what lies beyond them. A binary32 logit of 1 to 2^4 has an ulp
  // of 2^-23 to 2^-19, so 2^-20 is where rounding begins; a gap of 2^5 is beyond any doubt.
  static constexpr int kLowest = -20;
  static constexpr int kHighest = 6;
  static constexpr size_t kNumBins = 1 + (kHighest - kLowest);
  static double LowerEdge(size_t bin);  // 0 for bin 0

  void Add(float gap);  // >= 0
  int64_t operator[](size_t bin) const { return counts_[bin]; }
  int64_t total() const;

 private:
  std::array<int64_t, kNumBins> counts_ = {};
};

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_GAP_HISTOGRAM_H_
