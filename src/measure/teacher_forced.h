// MeasureTeacherForced: the flips of given texts, chain against blocks, and which of them rounding
// can't explain. Not free-running (free_running.h).
#ifndef VERBATIM_MEASURE_TEACHER_FORCED_H_
#define VERBATIM_MEASURE_TEACHER_FORCED_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "measure/flip_rows.h"
#include "measure/flip_texts.h"
#include "measure/flips.h"

namespace verbatim {

// The counts of texts added one by one, and the report over all of them.
class FlipTally {
 public:
  FlipTally(std::vector<int> widths, size_t num_prompts);

  // `chain` and `blocks[i]` (of width i) have a row per token of the text.
  void Add(int64_t index, const FlipText& text, std::span<const ChainRow> chain,
           std::span<const std::vector<BlockRow>> blocks);

  TeacherForced Report(uint64_t seed) const;

 private:
  std::vector<int> widths_;
  std::vector<std::vector<Cluster>> clusters_;  // [widths][prompts]
  std::vector<int64_t> byte_differences_;       // [widths]
  std::vector<std::vector<Flip>> flips_;        // [widths], all of them
  std::vector<float> changes_;                  // those that are not 0, where nothing flipped
  int64_t num_unflipped_ = 0;
  TeacherForced totals_;
};

// The largest gap at which rounding explains a flip. A flip of the top two means that their gap
// changed by more than it was; so the changes that are seen where nothing flips say what rounding
// does here. The limit is four times their 99th percentile: if they were normal, that is 10
// standard deviations, where the largest of a million is at 5, which leaves a factor of two for
// tails that are heavier. Where 99 of 100 changes are 0 the limit is 0: a backend whose sums have
// one order does not round differently at one position in a hundred. nullopt below kMinChanges
// comparisons. `sorted_changes` are the positive ones among `total`.
std::optional<double> RoundingLimit(std::span<const float> sorted_changes, int64_t total);
inline constexpr int64_t kMinChanges = 500;  // five beyond the 99th percentile

// `advance` is called with the number of rows done, after each row; its error ends the work.
Expected<TeacherForced> MeasureTeacherForced(Engine& engine, std::span<const FlipText> texts,
                                             const std::vector<int>& widths, size_t num_prompts,
                                             uint64_t seed,
                                             const std::function<Status(int64_t)>& advance);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_TEACHER_FORCED_H_
