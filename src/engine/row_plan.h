// RowPlan: the rows that one step runs, and whose they are. There is no second path for speculation
// above it.
#ifndef VERBATIM_ENGINE_ROW_PLAN_H_
#define VERBATIM_ENGINE_ROW_PLAN_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/running_sequence.h"
#include "ops/step.h"

namespace verbatim {

struct PlannedRows {
  RunningSequence* sequence = nullptr;
  int first_row = 0;
  int num_rows = 0;
  int first_logit_row = 0;  // index into RowPlan::logit_rows()
  int num_logit_rows = 0;
};

class RowPlan {
 public:
  // Reserves for the largest step, so that Build allocates nothing.
  RowPlan(int max_rows, int max_sequences, int64_t prefill_chunk);

  // Decoding sequences first, each with its block; then slices of prompts, in equal shares, while
  // rows are left. Prompts are kept a quarter of the rows, and beside decoding sequences get at
  // most `prefill_chunk` of them, so that neither waits long for the other. What has no room takes
  // part in the next step.
  void Build(std::span<const std::unique_ptr<RunningSequence>> sequences);

  bool empty() const { return planned_.empty(); }
  bool decode_only() const { return decode_only_; }
  int num_rows() const { return static_cast<int>(tokens_.size()); }
  std::span<const int32_t> tokens() const { return tokens_; }
  ops::StepView step() const { return {.sequences = rows_, .num_rows = num_rows()}; }
  std::span<const int32_t> logit_rows() const { return logit_rows_; }
  std::span<const PlannedRows> planned() const { return planned_; }

 private:
  void Add(RunningSequence& sequence, int64_t max_prompt_rows);
  void AddBlocks(std::span<const std::unique_ptr<RunningSequence>> sequences, int most_rows);
  void AddPrompts(std::span<const std::unique_ptr<RunningSequence>> sequences, int num_prompts);

  int max_rows_;
  int64_t prefill_chunk_;
  bool decode_only_ = true;
  size_t turn_ = 0;  // who comes first where not all find room
  std::vector<int32_t> tokens_;
  std::vector<ops::SequenceRows> rows_;
  std::vector<int32_t> logit_rows_;
  std::vector<PlannedRows> planned_;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_ROW_PLAN_H_
