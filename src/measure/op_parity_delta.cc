// Cases of the convolution with the gated delta rule: outputs, the state after folding, and the
// next row after a rejection.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "measure/op_parity_cases.h"
#include "measure/random_values.h"
#include "model/device_vector.h"

namespace verbatim::parity {
namespace {

enum Stream : uint64_t { kMixed = 401, kA, kB, kConv, kDecay, kBias, kState, kAccepted };

// A block of `width` rows: how many are tokens of the sequence, and how many of the drafts behind
// them are accepted.
struct Pattern {
  int certain = 1;
  int accepted = 0;
};

std::vector<Pattern> PatternsOf(int width, int max_drafts, int seed) {
  std::vector<Pattern> patterns = {{width, 0}};  // a slice of a prompt
  const int drafts = std::min(width - 1, max_drafts);
  if (drafts == 0) return patterns;
  const int certain = width - drafts;
  patterns.push_back({certain, drafts});
  patterns.push_back({certain, 0});
  if (drafts == 1) return patterns;
  const uint64_t random = RandomWord(kAccepted, CounterOf(seed, width));
  patterns.push_back({certain, 1 + static_cast<int>(random % static_cast<uint64_t>(drafts - 1))});
  return patterns;
}

// One layer's weights, one seed's rows, and state slots of one sequence.
class Layer {
 public:
  static Expected<Layer> Create(ops::Backend& backend, const ops::RecurrentLayout& layout,
                                int max_rows) {
    Layer layer;
    layer.layout_ = layout;
    const int heads = layout.num_value_heads;
    std::vector<float> conv(ops::kConvTaps * layout.conv_dim());
    for (size_t i = 0; i < conv.size(); ++i) conv[i] = RandomFloat(kConv, i, -0.9f, 0.9f);
    std::vector<float> rate, bias;
    for (int head = 0; head < heads; ++head) {
      const auto i = static_cast<uint64_t>(head);
      rate.push_back(RandomFloat(kDecay, i, 1.0f, 16.0f));
      bias.push_back(RandomFloat(kBias, i, -7.0f, -2.0f));  // softplus from 0.001 to 0.1
    }
    VERBATIM_ASSIGN_OR_RETURN(layer.conv_, DeviceVector::From(backend, conv));
    VERBATIM_ASSIGN_OR_RETURN(layer.rate_, DeviceVector::From(backend, rate));
    VERBATIM_ASSIGN_OR_RETURN(layer.bias_, DeviceVector::From(backend, bias));
    VERBATIM_ASSIGN_OR_RETURN(
        layer.out_,
        DeviceVector::Zeros(backend, max_rows * static_cast<int64_t>(layout.value_dim())));
    VERBATIM_ASSIGN_OR_RETURN(
        layer.state_, DeviceVector::Zeros(backend, static_cast<int64_t>(layout.slot_floats())));
    return layer;
  }
  Status SetSeed(ops::Backend& backend, int seed, int rows) {
    const auto width = static_cast<int64_t>(layout_.conv_dim());
    VERBATIM_ASSIGN_OR_RETURN(mixed_, DeviceInputs(backend, kMixed, seed, rows, width));
    VERBATIM_ASSIGN_OR_RETURN(a_, DeviceInputs(backend, kA, seed, rows, layout_.num_value_heads));
    VERBATIM_ASSIGN_OR_RETURN(b_, DeviceInputs(backend, kB, seed, rows, layout_.num_value_heads));
    return {};
  }

  size_t row_bytes() const { return layout_.value_dim() * sizeof(float); }
  // What of a slot belongs to the sequence: S and the convolution rows, not the records.
  size_t state_floats() const { return layout_.key_records_offset(); }

  void Restore(ops::Backend& backend, const std::vector<float>& state) const {
    backend.CopyFromHost(state_.data(), state.data(), state.size() * sizeof(float));
  }
  std::vector<float> State(ops::Backend& backend) const {
    std::vector<float> state(state_floats());
    backend.Synchronize();
    backend.CopyToHost(state.data(), state_.data(), state.size() * sizeof(float));
    return state;
  }

  // Rows [first, first + count) of the inputs after folding `fold` drafts of the call before.
  void Run(ops::Backend& backend, int first, int count, int certain, int fold,
           std::byte* host) const {
    const ops::SequenceRows rows[] = {
        {.num_rows = count, .num_certain = certain, .num_accepted_drafts = fold}};
    const double key_dim = layout_.key_head_dim;
    const auto width = static_cast<int64_t>(layout_.conv_dim());
    backend.ConvAndGatedDelta({.step = {.sequences = rows, .num_rows = count},
                               .state = {layout_, state_.data()},
                               .mixed = mixed_.data() + first * width,
                               .a = a_.data() + int64_t{first} * layout_.num_value_heads,
                               .b = b_.data() + int64_t{first} * layout_.num_value_heads,
                               .conv_weight = conv_.data(),
                               .decay_rate = rate_.data(),
                               .dt_bias = bias_.data(),
                               .query_scale = static_cast<float>(1.0 / std::sqrt(key_dim)),
                               .out = out_.data()});
    backend.Synchronize();
    backend.CopyToHost(host, out_.data(), static_cast<size_t>(count) * row_bytes());
  }
  void Fold(ops::Backend& backend, int accepted) const {
    backend.FoldRecords({.state = {layout_, state_.data()}, .num_accepted_drafts = accepted});
  }

 private:
  ops::RecurrentLayout layout_;
  DeviceVector conv_, rate_, bias_, mixed_, a_, b_, state_, out_;
};

std::vector<float> InitialState(const Layer& layer, int seed) {
  std::vector<float> state(layer.state_floats());
  const uint64_t stream = RandomWord(kState, static_cast<uint64_t>(seed));
  for (size_t i = 0; i < state.size(); ++i) state[i] = RandomFloat(stream, i, -1.0f, 1.0f);
  return state;
}

std::span<const std::byte> Bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

std::string Described(const Pattern& pattern, int width) {
  return pattern.certain == width
             ? fmt::format("{} certain rows", width)
             : fmt::format("{} certain rows and {} of {} drafts accepted", pattern.certain,
                           pattern.accepted, width - pattern.certain);
}

// The single arm of one seed: outputs of all rows, and the state after each number of them.
struct SingleArm {
  std::vector<std::byte> outputs;
  std::vector<std::vector<float>> states;

  SingleArm(CaseRun& run, const Layer& layer, std::vector<float> initial)
      : outputs(layer.row_bytes() * static_cast<size_t>(run.max_width)) {
    layer.Restore(run.backend, initial);
    states.push_back(std::move(initial));
    run.single_log.Clear();
    run.backend.SetDispatchLog(&run.single_log);
    for (int row = 0; row < run.max_width; ++row) {
      layer.Run(run.backend, row, 1, 1, 0, &outputs[layer.row_bytes() * static_cast<size_t>(row)]);
      states.push_back(layer.State(run.backend));
    }
    run.backend.SetDispatchLog(nullptr);
  }
};

void ComparePattern(CaseRun& run, WidthRecorder& recorder, const Layer& layer, int seed,
                    const SingleArm& single, const Pattern& pattern) {
  const int width = recorder.width();
  const int kept = pattern.certain + pattern.accepted;
  const std::string after = Described(pattern, width);
  const size_t size = layer.row_bytes() * static_cast<size_t>(width);
  std::vector<std::byte> block(size);
  run.block_log.Clear();
  run.backend.SetDispatchLog(&run.block_log);
  layer.Restore(run.backend, single.states[0]);
  layer.Run(run.backend, 0, width, pattern.certain, 0, block.data());
  if (pattern.certain < width) layer.Fold(run.backend, pattern.accepted);
  recorder.AddRows(seed, Element::kF32, block, std::span(single.outputs).first(size));
  recorder.AddState(seed, Element::kF32, Bytes(layer.State(run.backend)),
                    Bytes(single.states[static_cast<size_t>(kept)]), after);
  // With some drafts rejected: the next row, which is no row of the block, folds by itself.
  if (pattern.accepted > 0 && kept < width) {
    std::vector<std::byte> next_block(layer.row_bytes()), next_single(layer.row_bytes());
    layer.Restore(run.backend, single.states[0]);
    layer.Run(run.backend, 0, width, pattern.certain, 0, block.data());
    layer.Run(run.backend, run.max_width, 1, 1, pattern.accepted, next_block.data());
    const std::vector<float> next_state = layer.State(run.backend);
    run.backend.SetDispatchLog(nullptr);
    layer.Restore(run.backend, single.states[static_cast<size_t>(kept)]);
    layer.Run(run.backend, run.max_width, 1, 1, 0, next_single.data());
    recorder.AddState(seed, Element::kF32, next_block, next_single,
                      after + ", in the next row's output");
    recorder.AddState(seed, Element::kF32, Bytes(next_state), Bytes(layer.State(run.backend)),
                      after + " and the next row");
  }
  run.backend.SetDispatchLog(nullptr);
  recorder.AddRoutes(run.block_log, run.single_log);
}

Status RunGatedDelta(CaseRun& run, const ops::RecurrentLayout& layout) {
  VERBATIM_ASSIGN_OR_RETURN(Layer layer, Layer::Create(run.backend, layout, run.max_width));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_RETURN_IF_ERROR(layer.SetSeed(run.backend, seed, run.max_width + 1));
    const SingleArm single(run, layer, InitialState(layer, seed));
    for (WidthRecorder& recorder : run.widths) {
      for (const Pattern& pattern : PatternsOf(recorder.width(), layout.max_drafts, seed)) {
        ComparePattern(run, recorder, layer, seed, single, pattern);
      }
    }
  }
  return {};
}

}  // namespace

void AddGatedDeltaCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                        std::vector<Case>& cases) {
  if (!model.recurrent || !wanted("conv_and_gated_delta")) return;
  ops::RecurrentLayout layout = *model.recurrent;
  const int all_key_heads = layout.num_key_heads;
  const int per_key_head = layout.num_value_heads / layout.num_key_heads;
  layout.num_key_heads = std::min(all_key_heads, budget.max_key_heads);
  layout.num_value_heads = per_key_head * layout.num_key_heads;
  const auto heads = [&](int used, int all) {
    return used == all ? fmt::format("{}", all) : fmt::format("{} of {}", used, all);
  };
  ops::WorkspaceNeeds needs;
  needs.recurrent = layout;
  cases.push_back({.description = {.op = "conv_and_gated_delta",
                                   .model = model.name,
                                   .what = "linear_attn",
                                   .shape = fmt::format("{} key heads, {} value heads of {}",
                                                        heads(layout.num_key_heads, all_key_heads),
                                                        heads(layout.num_value_heads,
                                                              model.recurrent->num_value_heads),
                                                        layout.value_head_dim)},
                   .needs = needs,
                   .run = [layout](CaseRun& run) { return RunGatedDelta(run, layout); }});
}

}  // namespace verbatim::parity
