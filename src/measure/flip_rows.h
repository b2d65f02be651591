// FlipRows: one text scored as chain and as blocks, and what of each position is kept. Not the
// statistics over texts (teacher_forced.h).
#ifndef VERBATIM_MEASURE_FLIP_ROWS_H_
#define VERBATIM_MEASURE_FLIP_ROWS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "verbatim/engine.h"

namespace verbatim {

// Of the chain, per position.
struct ChainRow {
  int32_t best = 0;
  int32_t second = 0;  // the largest but for `best`
  float gap = 0;       // between their logits
  uint64_t hash = 0;   // of the logits' bytes, of use in this process only
};

// Of a block, at the same position.
struct BlockRow {
  int32_t best = 0;
  bool equal_bytes = false;  // the hashes agree
  // |(l_best - l_second) of the block - that of the chain|, best and second the chain's: what a
  // flip between these two has to overcome.
  float gap_change = 0;
};

// At least two logits, no NaN.
ChainRow ChainRowOf(std::span<const float> logits);
BlockRow BlockRowOf(const ChainRow& chain, std::span<const float> logits);

// One row per token of `ids`, at width 1. `on_row` is called after each one; its error ends the
// work. Errors: those of Engine::Score.
Expected<std::vector<ChainRow>> ScoreChain(Engine& engine, std::span<const int32_t> ids,
                                           const std::function<Status()>& on_row);
Expected<std::vector<BlockRow>> ScoreBlocks(Engine& engine, std::span<const int32_t> ids, int width,
                                            std::span<const ChainRow> chain,
                                            const std::function<Status()>& on_row);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_FLIP_ROWS_H_
