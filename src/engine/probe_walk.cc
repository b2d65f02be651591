// The walk: a chain of single tokens, and the same tokens as blocks.
#include <fmt/format.h>

#include <algorithm>

#include "engine/block_walk.h"
#include "engine/probe_parts.h"

namespace verbatim {
namespace {

constexpr double kWalkShare = 0.4;  // of the budget; starting and comparing states takes the rest
constexpr int kPromptTokens = 3;
// Widths when a row is so slow that not every width can be walked: the largest and the smallest.
constexpr int kFewWidths[] = {16, 2};
// Rows of the block whose records fold_records folds: more than eight of them.
constexpr int kLastBlock = 10;

class WalkProbe {
 public:
  explicit WalkProbe(ProbeContext& context) : context_(context) {}
  Status Run();

 private:
  int PeriodOf(const TracedPass& pass) const;
  void ChooseWalk(int period, double pass_ms);
  Status WalkChain(BlockWalk& walk);
  Status WalkBlocks(BlockWalk& walk);
  int NumAccepted(size_t block) const;
  void RunBlock(BlockWalk& walk, SequenceState& state, int width, int num_accepted,
                bool wrong_drafts);
  void CompareStates(const std::vector<float>& blocks, const std::vector<float>& chain,
                     bool folded);
  std::vector<int32_t> RandomTokens(size_t count);

  ProbeContext& context_;
  std::vector<int> widths_;  // of the blocks, largest first
  std::vector<int32_t> prompt_;
  std::vector<int32_t> tokens_;           // behind the prompt
  std::vector<TracedPass> chain_;         // one for each of tokens_
  std::vector<float> state_before_last_;  // before the last kLastBlock tokens
  std::vector<float> final_state_;
};

std::vector<int32_t> WalkProbe::RandomTokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(context_.random() %
                                 static_cast<uint64_t>(context_.model.shape().vocab_size));
  }
  return tokens;
}

// The first layers that have every kind of op, in a pass through all.
int WalkProbe::PeriodOf(const TracedPass& pass) const {
  int period = 1;
  for (size_t op = 0; op < ops::kNumOps; ++op) {
    for (size_t i = 0; i < pass.calls.size(); ++i) {
      if (pass.calls[i].op != static_cast<ops::Op>(op)) continue;
      period = std::max(period, 1 + LayerOf(pass.calls, i));
      break;
    }
  }
  return period;
}

// From what the prompt took through the first `period` layers: all of them, or those; every width,
// or a few.
void WalkProbe::ChooseWalk(int period, double pass_ms) {
  for (int width = context_.options.max_block_rows; width >= 2; --width) widths_.push_back(width);
  // About three passes of one row for each block, and the block itself, which costs at most as
  // much as its rows in prompts.
  const auto cost_ms = [&](int layers) {
    double passes = 0;
    for (const int width : widths_) passes += 3 + static_cast<double>(width) / kPromptTokens;
    return passes * pass_ms * layers / period;
  };
  const double allowed_ms = kWalkShare * context_.options.budget_ms;
  context_.report.layers_walked =
      cost_ms(context_.model.num_layers()) > allowed_ms ? period : context_.model.num_layers();
  if (cost_ms(context_.report.layers_walked) > allowed_ms) {
    widths_.clear();
    for (const int width : kFewWidths) {
      if (width <= context_.options.max_block_rows) widths_.push_back(width);
    }
  }
  context_.model.set_num_layers(context_.report.layers_walked);
}

Status WalkProbe::Run() {
  BlockWalk walk(context_.backend, context_.model, context_.caches, /*with_logits=*/false);
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, walk.Start(kProbePositions));
  prompt_ = RandomTokens(kPromptTokens);
  const int period = PeriodOf(walk.Run(state, prompt_, kPromptTokens, 0));
  context_.model.set_num_layers(period);
  const ProbeClock::time_point start = ProbeClock::now();
  walk.Run(state, prompt_, kPromptTokens, 0);
  ChooseWalk(period, MsSince(start));
  walk.Release(state);

  // One arm after the other, as the caches may have room for one sequence alone.
  Status status = WalkChain(walk);
  if (status.ok()) status = WalkBlocks(walk);
  context_.model.set_num_layers(context_.model.num_layers());
  return status;
}

Status WalkProbe::WalkChain(BlockWalk& walk) {
  int length = 1 + kLastBlock;
  for (size_t i = 0; i < widths_.size(); ++i) length += 1 + NumAccepted(i);
  tokens_ = RandomTokens(static_cast<size_t>(length));
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, walk.Start(kProbePositions));
  walk.Run(state, prompt_, kPromptTokens, 0);
  for (int at = 0; at < length; ++at) {
    if (at == length - kLastBlock) state_before_last_ = walk.ReadRecurrent(state);
    chain_.push_back(walk.Run(state, {&tokens_[static_cast<size_t>(at)], 1}, 1, 0));
  }
  final_state_ = walk.ReadRecurrent(state);
  walk.Release(state);
  return {};
}

Status WalkProbe::WalkBlocks(BlockWalk& walk) {
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, walk.Start(kProbePositions));
  walk.Run(state, prompt_, kPromptTokens, 0);
  for (size_t i = 0; i < widths_.size() && !context_.failed; ++i) {
    RunBlock(walk, state, widths_[i], NumAccepted(i), /*wrong_drafts=*/i % 2 == 1);
  }
  if (!context_.failed) RunBlock(walk, state, 1, 0, false);
  if (!context_.failed)
    CompareStates(walk.ReadRecurrent(state), state_before_last_, /*folded=*/false);
  if (!context_.failed) RunBlock(walk, state, kLastBlock, kLastBlock - 1, false);
  if (!context_.failed) CompareStates(walk.ReadRecurrent(state), final_state_, /*folded=*/true);
  walk.Release(state);
  return {};
}

// Accepts many drafts once, so that a fold of more than eight is met, then none, one or two.
int WalkProbe::NumAccepted(size_t block) const {
  const int most = widths_[block] - 1;
  return std::min(most, block == 0 ? 9 : static_cast<int>(block % 3));
}

// The next `width` tokens of the chain as one block, of which the first and `num_accepted` more
// count. Drafts behind those are the chain's too, or wrong ones, which nothing is compared with.
void WalkProbe::RunBlock(BlockWalk& walk, SequenceState& state, int width, int num_accepted,
                         bool wrong_drafts) {
  const auto at = static_cast<size_t>(state.num_consumed - kPromptTokens);
  std::vector<int32_t> block(static_cast<size_t>(width));
  int comparable = wrong_drafts ? 1 + num_accepted : width;
  comparable = std::min(comparable, static_cast<int>(tokens_.size() - at));
  for (int row = 0; row < width; ++row) {
    const size_t i = static_cast<size_t>(row);
    block[i] = row < comparable ? tokens_[at + i] : RandomTokens(1)[0];
  }
  const TracedPass pass = walk.Run(state, block, 1, num_accepted);
  context_.report.rows_walked += comparable;
  for (int row = 0; row < comparable; ++row) {
    const auto difference = FirstDifference(pass, row, chain_[at + static_cast<size_t>(row)]);
    if (!difference) continue;
    return context_.Localize(
        std::string(ops::OpName(difference->op)), difference->layer, 0,
        fmt::format("{}, in a block of {} rows", difference->Describe(), width));
  }
}

void WalkProbe::CompareStates(const std::vector<float>& blocks, const std::vector<float>& chain,
                              bool folded) {
  const int64_t bytes = DifferingBytes(blocks, chain);
  if (bytes == 0) return;
  const std::string how =
      fmt::format("{} of {} bytes of the recurrent states differ", bytes, 4 * chain.size());
  if (folded) {  // equal before the block, and so was every row of the block
    return context_.Localize("fold_records", -1, bytes, "fold_records: " + how);
  }
  context_.failed = true;
  context_.report.verdict = ProbeVerdict::kDiverges;
  context_.report.differing_bytes = bytes;
  context_.report.detail = how + " after blocks whose rows were equal";
}

}  // namespace

Status ProbeWalk(ProbeContext& context) { return WalkProbe(context).Run(); }

}  // namespace verbatim
