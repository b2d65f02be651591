// SequenceOfRow: which sequence of a step a row belongs to. Not a plan (ops/step.h).
#ifndef VERBATIM_BACKEND_CPU_STEP_ROWS_H_
#define VERBATIM_BACKEND_CPU_STEP_ROWS_H_

#include "base/check.h"
#include "ops/step.h"

namespace verbatim::cpu {

// A linear search: a step has few sequences, and an item of work is some hundred times longer.
inline const ops::SequenceRows& SequenceOfRow(const ops::StepView& step, int row) {
  for (const ops::SequenceRows& sequence : step.sequences) {
    if (row >= sequence.first_row && row < sequence.first_row + sequence.num_rows) return sequence;
  }
  VERBATIM_CHECK(false && "the sequences cover every row of the step");
}

}  // namespace verbatim::cpu

#endif  // VERBATIM_BACKEND_CPU_STEP_ROWS_H_
