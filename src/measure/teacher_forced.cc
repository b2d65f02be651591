// Text by text, so that rows of one text only are in memory.
#include "measure/teacher_forced.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace verbatim {
namespace {

// The quantile of `total` values, all but the given ones 0. The nearest rank above.
double QuantileWithZeros(std::span<const float> sorted, int64_t total, double p) {
  if (total == 0) return 0;
  const auto rank = static_cast<int64_t>(std::ceil(p * static_cast<double>(total)));
  const int64_t zeros = total - static_cast<int64_t>(sorted.size());
  const int64_t index = std::max<int64_t>(rank, 1) - 1 - zeros;
  return index < 0 ? 0 : sorted[static_cast<size_t>(index)];
}

}  // namespace

std::optional<double> RoundingLimit(std::span<const float> sorted_changes, int64_t total) {
  constexpr double kFactor = 4;  // see the header
  if (total < kMinChanges) return std::nullopt;
  return kFactor * QuantileWithZeros(sorted_changes, total, 0.99);
}

FlipTally::FlipTally(std::vector<int> widths, size_t num_prompts)
    : widths_(std::move(widths)),
      clusters_(widths_.size(), std::vector<Cluster>(num_prompts)),
      byte_differences_(widths_.size(), 0),
      flips_(widths_.size()) {}

void FlipTally::Add(int64_t index, const FlipText& text, std::span<const ChainRow> chain,
                    std::span<const std::vector<BlockRow>> blocks) {
  VERBATIM_CHECK(blocks.size() == widths_.size() && chain.size() == text.token_ids.size());
  ++totals_.texts;
  totals_.positions += text.num_counted();
  if (text.sampled) totals_.sampled_positions += text.num_counted();
  const auto first = static_cast<size_t>(text.first_counted);
  for (size_t i = first; i < chain.size(); ++i) totals_.gaps.Add(chain[i].gap);
  for (size_t w = 0; w < widths_.size(); ++w) {
    Cluster& cluster = clusters_[w][static_cast<size_t>(text.prompt)];
    for (size_t i = first; i < chain.size(); ++i) {
      const BlockRow& block = blocks[w][i];
      ++cluster.trials;
      byte_differences_[w] += block.equal_bytes ? 0 : 1;
      if (block.best == chain[i].best) {
        ++num_unflipped_;
        if (block.gap_change > 0) changes_.push_back(block.gap_change);
        continue;
      }
      ++cluster.events;
      totals_.gaps_at_flips.Add(chain[i].gap);
      flips_[w].push_back({.prompt = text.prompt,
                           .text = index,
                           .position = static_cast<int64_t>(i),
                           .width = widths_[w],
                           .chain_token = chain[i].best,
                           .block_token = block.best,
                           .chain_gap = chain[i].gap});
    }
  }
}

TeacherForced FlipTally::Report(uint64_t seed) const {
  TeacherForced report = totals_;
  std::vector<float> changes = changes_;
  std::ranges::sort(changes);
  report.comparisons = report.positions * static_cast<int64_t>(widths_.size());
  report.change_median = QuantileWithZeros(changes, num_unflipped_, 0.5);
  report.change_p99 = QuantileWithZeros(changes, num_unflipped_, 0.99);
  report.change_max = QuantileWithZeros(changes, num_unflipped_, 1);
  report.rounding_limit = RoundingLimit(changes, num_unflipped_);
  for (size_t w = 0; w < widths_.size(); ++w) {
    std::vector<Cluster> used;
    std::ranges::copy_if(clusters_[w], std::back_inserter(used),
                         [](const Cluster& cluster) { return cluster.trials > 0; });
    report.prompts = static_cast<int64_t>(used.size());
    WidthFlips width = {.width = widths_[w],
                        .flips = ProportionOf(used, seed),
                        .byte_differences = byte_differences_[w]};
    size_t listed = 0;
    for (Flip flip : flips_[w]) {
      flip.state_bug = report.rounding_limit && flip.chain_gap > *report.rounding_limit;
      width.state_bugs += flip.state_bug ? 1 : 0;
      if (listed++ < kMaxFlipsListed) report.flips.push_back(flip);
    }
    report.widths.push_back(width);
  }
  return report;
}

Expected<TeacherForced> MeasureTeacherForced(Engine& engine, std::span<const FlipText> texts,
                                             const std::vector<int>& widths, size_t num_prompts,
                                             uint64_t seed,
                                             const std::function<Status(int64_t)>& advance) {
  FlipTally tally(widths, num_prompts);
  const auto on_row = [&advance] { return advance(1); };
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<int32_t>& ids = texts[i].token_ids;
    VERBATIM_ASSIGN_OR_RETURN(const std::vector<ChainRow> chain, ScoreChain(engine, ids, on_row));
    std::vector<std::vector<BlockRow>> blocks;
    for (const int width : widths) {
      VERBATIM_ASSIGN_OR_RETURN(std::vector<BlockRow> rows,
                                ScoreBlocks(engine, ids, width, chain, on_row));
      blocks.push_back(std::move(rows));
    }
    tally.Add(static_cast<int64_t>(i), texts[i], chain, blocks);
  }
  return tally.Report(seed);
}

}  // namespace verbatim
