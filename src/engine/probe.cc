// The probe at load: linears, best_logits, and a walk through the layers.
#include "engine/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <tuple>
#include <utility>

#include "engine/block_walk.h"

namespace verbatim {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNumInputs = 3;
// Activations are of the order of 1; sums of other sizes round elsewhere.
constexpr float kMagnitudes[kNumInputs] = {1.0f, 1.0f / 512, 512.0f};
// A difference in one output of a thousand is missed once in e^(128 * 135 * 3 / 1000) = e^51 runs:
// 135 rows of blocks of 2 to 16.
constexpr int64_t kProbedOutputs = 128;
constexpr int64_t kStepOutputs = 16;  // of the largest step, which has many rows
constexpr int64_t kProbedLogits = 4096;
// Where that takes too long, once in e^(32 * 135 * 3 / 1000) = 400,000 runs.
constexpr int64_t kFewOutputs = 32;
// Of the budget; states and what is compared twice take the rest.
constexpr double kLinearShare = 0.4;
constexpr double kWalkShare = 0.4;
constexpr int kPromptTokens = 3;
// Widths when a row is so slow that not every width can be walked: the largest, the first with a
// ninth row, the smallest.
constexpr int kFewWidths[] = {16, 9, 2};
// Rows of the block whose records fold_records folds: more than eight of them.
constexpr int kLastBlock = 12;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Probe {
 public:
  Probe(TracingBackend& backend, Model& model, const Caches& caches, const ProbeOptions& options)
      : backend_(backend),
        model_(model),
        caches_(caches),
        options_(options),
        random_(options.seed),
        log_(1024) {}

  ProbeReport Run() {
    const Clock::time_point start = Clock::now();
    report_.budget_ms = options_.budget_ms;
    if (const Status status = RunParts(); !status.ok()) {
      report_.verdict = ProbeVerdict::kNotRun;
      report_.detail = status.message();
    } else if (!failed_) {
      report_.verdict = ProbeVerdict::kEqual;
      report_.detail = fmt::format(
          "{} outputs of {} shapes of matrices and {} rows of blocks through {} layers had the "
          "bytes of single rows, by the same routes",
          report_.outputs_compared, report_.linear_shapes, report_.rows_walked,
          report_.layers_walked);
    }
    report_.ms = MsSince(start);
    return std::move(report_);
  }

 private:
  Status RunParts() {
    VERBATIM_RETURN_IF_ERROR(RunLinears());
    if (failed_) return {};
    VERBATIM_RETURN_IF_ERROR(RunBestLogits());
    if (failed_) return {};
    return RunWalk();
  }

  void Localize(std::string op, int layer, int64_t bytes, std::string detail) {
    failed_ = true;
    report_.verdict = ProbeVerdict::kLocalized;
    report_.op = std::move(op);
    report_.layer = layer;
    report_.differing_bytes = bytes;
    report_.detail = std::move(detail);
  }

  Status RunLinears();
  LinearList DistinctLinears() const;
  Status RunLinear(const ops::PreparedLinear& linear, double allowed_ms);
  void CompareWidths(const ops::PreparedLinear& linear, int64_t outputs,
                     std::span<const int> widths);
  ops::DispatchRecord RunRows(const ops::PreparedLinear& linear, int first, int count,
                              int64_t outputs, float* host);
  bool CompareWidth(const ops::PreparedLinear& linear, int width, int64_t outputs);
  Status RunBestLogits();

  Status RunWalk();
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

  void FillInputs(float magnitude, std::vector<float>& values) {
    for (float& value : values) {  // uniform in +-magnitude
      value = magnitude * (static_cast<float>(random_() >> 8) * 0x1p-23f - 1.0f);
    }
  }
  Expected<std::unique_ptr<ops::DeviceBuffer>> Allocate(int64_t floats) {
    return backend_.Allocate(static_cast<size_t>(floats) * sizeof(float));
  }

  TracingBackend& backend_;
  Model& model_;
  Caches caches_;
  ProbeOptions options_;
  std::mt19937 random_;
  ops::DispatchLog log_;
  ProbeReport report_;
  bool failed_ = false;

  std::unique_ptr<ops::DeviceBuffer> x_;
  std::unique_ptr<ops::DeviceBuffer> y_;
  std::vector<float> single_;  // [rows, outputs]
  std::vector<float> block_;
  ops::DispatchRecord single_route_;

  // The walk.
  std::vector<int> widths_;  // of its blocks, largest first
  std::vector<int32_t> prompt_;
  std::vector<int32_t> tokens_;           // behind the prompt
  std::vector<TracedPass> chain_;         // one for each of tokens_
  std::vector<float> state_before_last_;  // before the last kLastBlock tokens
  std::vector<float> final_state_;
};

// The target's matrices, one of each format and shape.
LinearList Probe::DistinctLinears() const {
  using Shape = std::tuple<WeightType, int, int, WeightType, int64_t, int64_t>;
  std::vector<Shape> seen;
  LinearList distinct;
  for (const ops::PreparedLinear* linear : model_.linears()) {
    const WeightFormat& format = linear->format();
    const Shape shape = {format.type,
                         format.bits,
                         format.group_size,
                         format.scale_type,
                         linear->out_features(),
                         linear->in_features()};
    if (std::ranges::find(seen, shape) != seen.end()) continue;
    seen.push_back(shape);
    distinct.push_back(linear);
  }
  return distinct;
}

Status Probe::RunLinears() {
  const LinearList distinct = DistinctLinears();
  report_.linear_shapes = static_cast<int64_t>(distinct.size());
  const double allowed_ms =
      kLinearShare * options_.budget_ms / static_cast<double>(distinct.size());
  for (const ops::PreparedLinear* linear : distinct) {
    VERBATIM_RETURN_IF_ERROR(RunLinear(*linear, allowed_ms));
    if (failed_) return {};
  }
  return {};
}

Status Probe::RunLinear(const ops::PreparedLinear& linear, double allowed_ms) {
  const int64_t columns = linear.in_features();
  const int block_rows = options_.max_block_rows;
  const int step_rows = std::max(options_.max_step_rows, block_rows);
  VERBATIM_ASSIGN_OR_RETURN(x_, Allocate(step_rows * columns));
  VERBATIM_ASSIGN_OR_RETURN(
      y_, Allocate(std::max(step_rows * kStepOutputs, block_rows * kProbedOutputs)));
  int64_t outputs = std::min(kProbedOutputs, linear.out_features());
  std::vector<int> widths;
  for (int width = 2; width <= block_rows; ++width) widths.push_back(width);
  for (int input = 0; input < kNumInputs && !failed_; ++input) {
    const bool with_step = input == 0 && step_rows > block_rows;
    std::vector<float> x(static_cast<size_t>((with_step ? step_rows : block_rows) * columns));
    FillInputs(kMagnitudes[input], x);
    backend_.CopyFromHost(x_->data(), x.data(), x.size() * sizeof(float));
    if (with_step) {
      CompareWidths(linear, std::min(kStepOutputs, outputs), {{step_rows}});
      if (failed_) return {};
    }
    const Clock::time_point start = Clock::now();
    const int64_t few = std::min(kFewOutputs, outputs);
    CompareWidths(linear, input == 0 ? few : outputs, widths);
    // What the whole would take, from what the few outputs took.
    const double whole_ms =
        MsSince(start) * static_cast<double>(kNumInputs * outputs) / static_cast<double>(few);
    if (input > 0 || failed_) continue;
    if (whole_ms > allowed_ms) {
      outputs = few;
    } else {
      CompareWidths(linear, outputs, widths);
    }
  }
  return {};
}

// Single rows, then blocks of each width, the same inputs.
void Probe::CompareWidths(const ops::PreparedLinear& linear, int64_t outputs,
                          std::span<const int> widths) {
  const int rows = widths.back();
  single_.resize(static_cast<size_t>(rows * outputs));
  for (int row = 0; row < rows; ++row) {
    single_route_ = RunRows(linear, row, 1, outputs, &single_[static_cast<size_t>(row * outputs)]);
  }
  for (const int width : widths) {
    if (!CompareWidth(linear, width, outputs)) return;
  }
}

ops::DispatchRecord Probe::RunRows(const ops::PreparedLinear& linear, int first, int count,
                                   int64_t outputs, float* host) {
  const ops::LinearTask task = {.weights = &linear,
                                .out = y_->As<float>(),
                                .out_stride = outputs,
                                .num_outputs = outputs == linear.out_features() ? 0 : outputs};
  log_.Clear();
  backend_.SetDispatchLog(&log_);
  backend_.Linear({.x = x_->As<float>() + first * linear.in_features(),
                   .x_stride = linear.in_features(),
                   .num_rows = count,
                   .tasks = {&task, 1}});
  backend_.SetDispatchLog(nullptr);
  backend_.CopyToHost(host, y_->data(), static_cast<size_t>(count * outputs) * sizeof(float));
  return log_.records().back();
}

// False: a difference was found.
bool Probe::CompareWidth(const ops::PreparedLinear& linear, int width, int64_t outputs) {
  block_.resize(static_cast<size_t>(width * outputs));
  const ops::DispatchRecord route = RunRows(linear, 0, width, outputs, block_.data());
  report_.outputs_compared += static_cast<int64_t>(block_.size());
  const int64_t bytes = DifferingBytes(block_, std::span(single_).first(block_.size()));
  const bool same_route = SameRoute(route, single_route_);
  if (bytes == 0 && same_route) return true;
  const std::string where = fmt::format("linear [{}, {}] with {} rows", linear.out_features(),
                                        linear.in_features(), width);
  const std::string how =
      bytes > 0
          ? fmt::format("{} of {} bytes differ from single rows", bytes, 4 * block_.size())
          : fmt::format("kernel {} where single rows take {}", route.kernel, single_route_.kernel);
  Localize("linear", -1, bytes, where + ": " + how);
  return false;
}

Status Probe::RunBestLogits() {
  const int rows = options_.max_block_rows;
  const int64_t vocab = std::min(kProbedLogits, model_.shape().vocab_size);
  VERBATIM_ASSIGN_OR_RETURN(const auto logits, Allocate(rows * vocab));
  std::vector<float> values(static_cast<size_t>(rows * vocab));
  FillInputs(1.0f, values);
  // A tie in every row, so that the order of the search shows.
  for (int row = 0; row < rows; ++row) {
    for (const int64_t at : {vocab / 3, vocab / 2}) {
      values[static_cast<size_t>(row * vocab + (at + 7 * row) % vocab)] = 2.0f;
    }
  }
  backend_.CopyFromHost(logits->data(), values.data(), values.size() * sizeof(float));
  std::vector<ops::BestLogit> single(static_cast<size_t>(rows));
  std::vector<ops::BestLogit> block(static_cast<size_t>(rows));
  const auto run = [&](int first, int count, ops::BestLogit* best) {
    log_.Clear();
    backend_.SetDispatchLog(&log_);
    backend_.BestLogits({.logits = logits->As<float>() + first * vocab,
                         .num_rows = count,
                         .vocab_size = vocab,
                         .num_choosable = vocab,
                         .best = best});
    backend_.SetDispatchLog(nullptr);
    return log_.records().back();
  };
  ops::DispatchRecord route;
  for (int row = 0; row < rows; ++row) route = run(row, 1, &single[static_cast<size_t>(row)]);
  for (int width = 2; width <= rows; ++width) {
    const bool same_route = SameRoute(run(0, width, block.data()), route);
    for (int row = 0; row < width; ++row) {
      const size_t i = static_cast<size_t>(row);
      const bool equal = block[i].id == single[i].id && block[i].has_nan == single[i].has_nan;
      if (equal && same_route) continue;
      Localize("best_logits", -1, equal ? 0 : sizeof(int32_t),
               fmt::format("best_logits with {} rows: {}", width,
                           equal ? "another kernel than for single rows"
                                 : fmt::format("row {} chose {}, alone {}", row, block[i].id,
                                               single[i].id)));
      return {};
    }
  }
  return {};
}

std::vector<int32_t> Probe::RandomTokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(random_() % static_cast<uint64_t>(model_.shape().vocab_size));
  }
  return tokens;
}

// The first layers that have every kind of op, in a pass through all.
int Probe::PeriodOf(const TracedPass& pass) const {
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
void Probe::ChooseWalk(int period, double pass_ms) {
  for (int width = options_.max_block_rows; width >= 2; --width) widths_.push_back(width);
  // About three passes of one row for each block, and the block itself, which costs at most as
  // much as its rows in prompts.
  const auto cost_ms = [&](int layers) {
    double passes = 0;
    for (const int width : widths_) passes += 3 + static_cast<double>(width) / kPromptTokens;
    return passes * pass_ms * layers / period;
  };
  const double allowed_ms = kWalkShare * options_.budget_ms;
  report_.layers_walked = cost_ms(model_.num_layers()) > allowed_ms ? period : model_.num_layers();
  if (cost_ms(report_.layers_walked) > allowed_ms) {
    widths_.clear();
    for (const int width : kFewWidths) {
      if (width <= options_.max_block_rows) widths_.push_back(width);
    }
  }
  model_.set_num_layers(report_.layers_walked);
}

Status Probe::RunWalk() {
  BlockWalk walk(backend_, model_, caches_, /*with_logits=*/false);
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, walk.Start(kProbePositions));
  prompt_ = RandomTokens(kPromptTokens);
  const int period = PeriodOf(walk.Run(state, prompt_, kPromptTokens, 0));
  model_.set_num_layers(period);
  const Clock::time_point start = Clock::now();
  walk.Run(state, prompt_, kPromptTokens, 0);
  ChooseWalk(period, MsSince(start));
  walk.Release(state);

  // One arm after the other, as the caches may have room for one sequence alone.
  Status status = WalkChain(walk);
  if (status.ok()) status = WalkBlocks(walk);
  model_.set_num_layers(model_.num_layers());
  return status;
}

Status Probe::WalkChain(BlockWalk& walk) {
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

Status Probe::WalkBlocks(BlockWalk& walk) {
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, walk.Start(kProbePositions));
  walk.Run(state, prompt_, kPromptTokens, 0);
  for (size_t i = 0; i < widths_.size() && !failed_; ++i) {
    RunBlock(walk, state, widths_[i], NumAccepted(i), /*wrong_drafts=*/i % 2 == 1);
  }
  if (!failed_) RunBlock(walk, state, 1, 0, false);
  if (!failed_) CompareStates(walk.ReadRecurrent(state), state_before_last_, /*folded=*/false);
  if (!failed_) RunBlock(walk, state, kLastBlock, kLastBlock - 1, false);
  if (!failed_) CompareStates(walk.ReadRecurrent(state), final_state_, /*folded=*/true);
  walk.Release(state);
  return {};
}

// Accepts many drafts once, so that a fold of more than eight is met, then none, one or two.
int Probe::NumAccepted(size_t block) const {
  const int most = widths_[block] - 1;
  return std::min(most, block == 0 ? 9 : static_cast<int>(block % 3));
}

// The next `width` tokens of the chain as one block, of which the first and `num_accepted` more
// count. Drafts behind those are the chain's too, or wrong ones, which nothing is compared with.
void Probe::RunBlock(BlockWalk& walk, SequenceState& state, int width, int num_accepted,
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
  report_.rows_walked += comparable;
  for (int row = 0; row < comparable; ++row) {
    const auto difference = FirstDifference(pass, row, chain_[at + static_cast<size_t>(row)]);
    if (!difference) continue;
    return Localize(std::string(ops::OpName(difference->op)), difference->layer, 0,
                    fmt::format("{}, in a block of {} rows", difference->Describe(), width));
  }
}

void Probe::CompareStates(const std::vector<float>& blocks, const std::vector<float>& chain,
                          bool folded) {
  const int64_t bytes = DifferingBytes(blocks, chain);
  if (bytes == 0) return;
  const std::string how =
      fmt::format("{} of {} bytes of the recurrent states differ", bytes, 4 * chain.size());
  if (folded) {  // equal before the block, and so was every row of the block
    return Localize("fold_records", -1, bytes, "fold_records: " + how);
  }
  failed_ = true;
  report_.verdict = ProbeVerdict::kDiverges;
  report_.differing_bytes = bytes;
  report_.detail = how + " after blocks whose rows were equal";
}

}  // namespace

ProbeReport RunProbe(TracingBackend& backend, Model& model, const Caches& caches,
                     const ProbeOptions& options) {
  return Probe(backend, model, caches, options).Run();
}

}  // namespace verbatim
