// The gated delta rule with its convolution: blocks of decode, prefill, and folding. Shape of the
// 0.8B model.
#include <vector>

#include "base/aligned_buffer.h"
#include "bench/bench_support.h"
#include "tests/backend/gated_delta_test_util.h"

namespace verbatim::bench {
namespace {

//                                      Hk  Hv   Dk   Dv  max_drafts
constexpr ops::RecurrentLayout kLayout = {16, 16, 128, 128, 15};

// A layer with its state and `rows` rows of input.
struct Layer {
  explicit Layer(int num_rows)
      : rows(num_rows),
        backend(MakeBackend()),
        random(1),
        weights(kLayout, random),
        slots(kLayout.slot_floats()),
        out(num_rows * kLayout.value_dim()) {
    for (int r = 0; r < rows; ++r) {
      inputs.push_back(cpu::RandomRow(kLayout, random, cpu::Inputs::kOrdinary));
      const cpu::Row& row = inputs.back();
      mixed.insert(mixed.end(), row.mixed.begin(), row.mixed.end());
      a.insert(a.end(), row.a.begin(), row.a.end());
      b.insert(b.end(), row.b.begin(), row.b.end());
    }
  }

  bool Reserve() { return backend->Reserve({.max_rows = rows, .recurrent = kLayout}).ok(); }

  void Run(int num_certain, int num_accepted) {
    const ops::SequenceRows sequence = {
        .num_rows = rows, .num_certain = num_certain, .num_accepted_drafts = num_accepted};
    backend->ConvAndGatedDelta({.step = {{&sequence, 1}, rows},
                                .state = {kLayout, slots.data()},
                                .mixed = mixed.data(),
                                .a = a.data(),
                                .b = b.data(),
                                .conv_weight = weights.conv.data(),
                                .decay_rate = weights.decay_rate.data(),
                                .dt_bias = weights.dt_bias.data(),
                                .query_scale = weights.query_scale,
                                .out = out.data()});
  }

  // From the empty state.
  std::vector<float> Reference() const {
    cpu::ReferenceSequence sequence(kLayout, weights);
    std::vector<float> expected;
    for (const cpu::Row& row : inputs) {
      const std::vector<float> one = sequence.Run(row);
      expected.insert(expected.end(), one.begin(), one.end());
    }
    return expected;
  }

  int rows;
  std::unique_ptr<ops::Backend> backend;
  cpu::Random random;
  cpu::LayerWeights weights;
  AlignedBuffer<float> slots;
  std::vector<cpu::Row> inputs;
  std::vector<float> mixed, a, b, out;
};

// A verified block whose drafts were all right: the next one folds them.
void Block(benchmark::State& state) {
  Layer layer(static_cast<int>(state.range(0)));
  if (!layer.Reserve()) return state.SkipWithError("memory");
  layer.Run(1, 0);
  if (!Equals(state, layer.Reference(), layer.out)) return;
  Time(state, layer.rows, [&] { layer.Run(1, layer.rows - 1); });
}
BENCHMARK(Block)
    ->Name("gated_delta/block")
    ->ArgName("rows")
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->Arg(16)
    ->UseRealTime();

void Prefill(benchmark::State& state) {
  Layer layer(static_cast<int>(state.range(0)));
  if (!layer.Reserve()) return state.SkipWithError("memory");
  layer.Run(layer.rows, 0);
  if (!Equals(state, layer.Reference(), layer.out)) return;
  Time(state, layer.rows, [&] { layer.Run(layer.rows, 0); });
}
BENCHMARK(Prefill)->Name("gated_delta/prefill")->ArgName("rows")->Arg(64)->Arg(256)->UseRealTime();

// Folding a block's records must give the state that the tokens give one by one.
void Fold(benchmark::State& state) {
  const int drafts = static_cast<int>(state.range(0));
  Layer layer(drafts + 1);
  if (!layer.Reserve()) return state.SkipWithError("memory");
  layer.Run(1, 0);
  layer.backend->FoldRecords({{kLayout, layer.slots.data()}, 0, drafts});
  cpu::ReferenceSequence sequence(kLayout, layer.weights);
  for (const cpu::Row& row : layer.inputs) sequence.Run(row);
  if (!sequence.SameState(layer.slots.data()))
    return state.SkipWithError("not the reference's state");
  Time(state, drafts,
       [&] { layer.backend->FoldRecords({{kLayout, layer.slots.data()}, 0, drafts}); });
}
BENCHMARK(Fold)
    ->Name("gated_delta/fold")
    ->ArgName("drafts")
    ->Arg(1)
    ->Arg(3)
    ->Arg(15)
    ->UseRealTime();

}  // namespace
}  // namespace verbatim::bench
