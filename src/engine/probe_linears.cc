// Matrices, and the choice of the largest logit: blocks against single rows, on random inputs.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "engine/block_walk.h"
#include "engine/probe_parts.h"

namespace verbatim {
namespace {

constexpr int kNumInputs = 3;
// Activations are of the order of 1; sums of other sizes round elsewhere.
constexpr float kMagnitudes[kNumInputs] = {1.0f, 1.0f / 512, 512.0f};
// A difference in one output of a thousand is missed once in e^(64 * 135 * 3 / 1000) = e^26 runs:
// 135 rows of blocks of 2 to 16.
constexpr int64_t kProbedOutputs = 64;
// Where that takes too long, once in e^(32 * 135 * 3 / 1000) = 400,000 runs.
constexpr int64_t kFewOutputs = 32;
constexpr int64_t kStepOutputs = 16;  // of the largest step, which has many rows
constexpr double kLinearShare = 0.4;  // of the budget
constexpr int64_t kProbedLogits = 4096;

class LinearProbe {
 public:
  explicit LinearProbe(ProbeContext& context) : context_(context) {}
  Status Run();

 private:
  LinearList DistinctLinears() const;
  Status RunLinear(const ops::PreparedLinear& linear, double allowed_ms);
  void CompareWidths(const ops::PreparedLinear& linear, int64_t outputs,
                     std::span<const int> widths);
  ops::DispatchRecord RunRows(const ops::PreparedLinear& linear, int first, int count,
                              int64_t outputs, float* host);
  bool CompareWidth(const ops::PreparedLinear& linear, int width, int64_t outputs);

  ProbeContext& context_;
  ops::DispatchLog log_{1};
  std::unique_ptr<ops::DeviceBuffer> x_;
  std::unique_ptr<ops::DeviceBuffer> y_;
  std::vector<float> single_;  // [rows, outputs]
  std::vector<float> block_;
  ops::DispatchRecord single_route_;
};

// The target's matrices, one of each format and shape.
LinearList LinearProbe::DistinctLinears() const {
  using Shape = std::tuple<WeightType, int, int, WeightType, int64_t, int64_t>;
  std::vector<Shape> seen;
  LinearList distinct;
  for (const ops::PreparedLinear* linear : context_.model.linears()) {
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

Status LinearProbe::Run() {
  const LinearList distinct = DistinctLinears();
  context_.report.linear_shapes = static_cast<int64_t>(distinct.size());
  const double allowed_ms =
      kLinearShare * context_.options.budget_ms / static_cast<double>(distinct.size());
  for (const ops::PreparedLinear* linear : distinct) {
    VERBATIM_RETURN_IF_ERROR(RunLinear(*linear, allowed_ms));
    if (context_.failed) return {};
  }
  return {};
}

Status LinearProbe::RunLinear(const ops::PreparedLinear& linear, double allowed_ms) {
  const int64_t columns = linear.in_features();
  const int block_rows = context_.options.max_block_rows;
  const int step_rows = std::max(context_.options.max_step_rows, block_rows);
  VERBATIM_ASSIGN_OR_RETURN(x_, context_.Allocate(step_rows * columns));
  VERBATIM_ASSIGN_OR_RETURN(
      y_, context_.Allocate(std::max(step_rows * kStepOutputs, block_rows * kProbedOutputs)));
  int64_t outputs = std::min(kProbedOutputs, linear.out_features());
  std::vector<int> widths;
  for (int width = 2; width <= block_rows; ++width) widths.push_back(width);
  for (int input = 0; input < kNumInputs && !context_.failed; ++input) {
    const bool with_step = input == 0 && step_rows > block_rows;
    std::vector<float> x(static_cast<size_t>((with_step ? step_rows : block_rows) * columns));
    context_.FillInputs(kMagnitudes[input], x);
    context_.backend.CopyFromHost(x_->data(), x.data(), x.size() * sizeof(float));
    if (with_step) {
      CompareWidths(linear, std::min(kStepOutputs, outputs), {{step_rows}});
      if (context_.failed) return {};
    }
    const ProbeClock::time_point start = ProbeClock::now();
    const int64_t few = std::min(kFewOutputs, outputs);
    CompareWidths(linear, input == 0 ? few : outputs, widths);
    // What the whole would take, from what the few outputs took.
    const double whole_ms =
        MsSince(start) * static_cast<double>(kNumInputs * outputs) / static_cast<double>(few);
    if (input > 0 || context_.failed) continue;
    if (whole_ms > allowed_ms) {
      outputs = few;
    } else {
      CompareWidths(linear, outputs, widths);
    }
  }
  return {};
}

// Single rows, then blocks of each width, the same inputs.
void LinearProbe::CompareWidths(const ops::PreparedLinear& linear, int64_t outputs,
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

ops::DispatchRecord LinearProbe::RunRows(const ops::PreparedLinear& linear, int first, int count,
                                         int64_t outputs, float* host) {
  const ops::LinearTask task = {.weights = &linear,
                                .out = y_->As<float>(),
                                .out_stride = outputs,
                                .num_outputs = outputs == linear.out_features() ? 0 : outputs};
  log_.Clear();
  context_.backend.SetDispatchLog(&log_);
  context_.backend.Linear({.x = x_->As<float>() + first * linear.in_features(),
                           .x_stride = linear.in_features(),
                           .num_rows = count,
                           .tasks = {&task, 1}});
  context_.backend.SetDispatchLog(nullptr);
  context_.backend.CopyToHost(host, y_->data(),
                              static_cast<size_t>(count * outputs) * sizeof(float));
  return log_.records().back();
}

// False: a difference was found.
bool LinearProbe::CompareWidth(const ops::PreparedLinear& linear, int width, int64_t outputs) {
  block_.resize(static_cast<size_t>(width * outputs));
  const ops::DispatchRecord route = RunRows(linear, 0, width, outputs, block_.data());
  context_.report.outputs_compared += static_cast<int64_t>(block_.size());
  const int64_t bytes = DifferingBytes(block_, std::span(single_).first(block_.size()));
  const bool same_route = SameRoute(route, single_route_);
  if (bytes == 0 && same_route) return true;
  const std::string where = fmt::format("linear [{}, {}] with {} rows", linear.out_features(),
                                        linear.in_features(), width);
  const std::string how =
      bytes > 0
          ? fmt::format("{} of {} bytes differ from single rows", bytes, 4 * block_.size())
          : fmt::format("kernel {} where single rows take {}", route.kernel, single_route_.kernel);
  context_.Localize("linear", -1, bytes, where + ": " + how);
  return false;
}

}  // namespace

Status ProbeLinears(ProbeContext& context) { return LinearProbe(context).Run(); }

Status ProbeBestLogits(ProbeContext& context) {
  const int rows = context.options.max_block_rows;
  const int64_t vocab = std::min(kProbedLogits, context.model.shape().vocab_size);
  VERBATIM_ASSIGN_OR_RETURN(const auto logits, context.Allocate(rows * vocab));
  std::vector<float> values(static_cast<size_t>(rows * vocab));
  context.FillInputs(1.0f, values);
  // A tie in every row, so that the order of the search shows.
  for (int row = 0; row < rows; ++row) {
    for (const int64_t at : {vocab / 3, vocab / 2}) {
      values[static_cast<size_t>(row * vocab + (at + 7 * row) % vocab)] = 2.0f;
    }
  }
  context.backend.CopyFromHost(logits->data(), values.data(), values.size() * sizeof(float));
  std::vector<ops::BestLogit> single(static_cast<size_t>(rows));
  std::vector<ops::BestLogit> block(static_cast<size_t>(rows));
  ops::DispatchLog log(1);
  const auto run = [&](int first, int count, ops::BestLogit* best) {
    log.Clear();
    context.backend.SetDispatchLog(&log);
    context.backend.BestLogits({.logits = logits->As<float>() + first * vocab,
                                .num_rows = count,
                                .vocab_size = vocab,
                                .num_choosable = vocab,
                                .best = best});
    context.backend.SetDispatchLog(nullptr);
    return log.records().back();
  };
  ops::DispatchRecord route;
  for (int row = 0; row < rows; ++row) route = run(row, 1, &single[static_cast<size_t>(row)]);
  for (int width = 2; width <= rows; ++width) {
    const bool same_route = SameRoute(run(0, width, block.data()), route);
    for (int row = 0; row < width; ++row) {
      const size_t i = static_cast<size_t>(row);
      const bool equal = block[i].id == single[i].id && block[i].has_nan == single[i].has_nan;
      if (equal && same_route) continue;
      context.Localize("best_logits", -1, equal ? 0 : sizeof(int32_t),
                       fmt::format("best_logits with {} rows: {}", width,
                                   equal ? "another kernel than for single rows"
                                         : fmt::format("row {} chose {}, alone {}", row,
                                                       block[i].id, single[i].id)));
      return {};
    }
  }
  return {};
}

}  // namespace verbatim
