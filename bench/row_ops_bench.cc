// The ops that work row by row: norms, silu * up, gathered rows. Shapes of the 0.8B model.
#include <vector>

#include "bench/bench_support.h"
#include "numerics/reference/elementwise.h"
#include "numerics/reference/norm.h"

namespace verbatim::bench {
namespace {

constexpr float kEps = 1e-6f;
constexpr int64_t kHidden = 1024;
constexpr int64_t kMlp = 3584;

void RmsNorm(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  const auto backend = MakeBackend();
  cpu::Random random(1);
  const std::vector<float> x = random.Values(rows * kHidden);
  const std::vector<float> weight = random.Values(kHidden);
  std::vector<float> out(x.size());
  std::vector<float> expected(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    reference::RmsNorm(x.data() + r * kHidden, weight.data(), kHidden, kEps,
                       expected.data() + r * kHidden);
  }
  const auto run = [&] {
    backend->RmsNorm({.x = x.data(),
                      .x_stride = kHidden,
                      .weight = weight.data(),
                      .eps = kEps,
                      .num_rows = rows,
                      .width = kHidden,
                      .out = out.data(),
                      .out_stride = kHidden});
  };
  run();
  if (Equals(state, expected, out)) Time(state, rows, run);
}
BENCHMARK(RmsNorm)->ArgName("rows")->Arg(1)->Arg(4)->Arg(16)->Arg(256)->UseRealTime();

void GatedNorm(benchmark::State& state) {
  constexpr int kHeads = 16;
  constexpr int kHeadDim = 128;
  const int rows = static_cast<int>(state.range(0));
  const auto backend = MakeBackend();
  cpu::Random random(1);
  const std::vector<float> x = random.Values(rows * kHeads * kHeadDim);
  const std::vector<float> z = random.Values(x.size());
  const std::vector<float> weight = random.Values(kHeadDim);
  std::vector<float> out(x.size());
  std::vector<float> expected(x.size());
  for (size_t i = 0; i < x.size(); i += kHeadDim) {
    reference::GatedNorm(x.data() + i, z.data() + i, weight.data(), kHeadDim, kEps,
                         expected.data() + i);
  }
  const auto run = [&] {
    backend->GatedNorm(
        {x.data(), z.data(), weight.data(), kEps, rows, kHeads, kHeadDim, out.data()});
  };
  run();
  if (Equals(state, expected, out)) Time(state, rows, run);
}
BENCHMARK(GatedNorm)->ArgName("rows")->Arg(1)->Arg(4)->Arg(16)->Arg(256)->UseRealTime();

void SiluMul(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  const auto backend = MakeBackend();
  cpu::Random random(1);
  const std::vector<float> gate = random.Values(rows * kMlp);
  const std::vector<float> up = random.Values(rows * kMlp);
  std::vector<float> out(gate.size());
  std::vector<float> expected(gate.size());
  reference::SiluMul(gate.data(), up.data(), gate.size(), expected.data());
  const auto run = [&] { backend->SiluMul({gate.data(), up.data(), rows, kMlp, out.data()}); };
  run();
  if (Equals(state, expected, out)) Time(state, rows, run);
}
BENCHMARK(SiluMul)->ArgName("rows")->Arg(1)->Arg(4)->Arg(16)->Arg(256)->UseRealTime();

void GatherRows(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  const auto backend = MakeBackend();
  cpu::Random random(1);
  const std::vector<float> x = random.Values(2 * rows * kHidden);
  std::vector<int32_t> chosen;
  std::vector<float> expected;
  for (int r = 2 * rows - 1; r > 0; r -= 2) {
    chosen.push_back(r);
    expected.insert(expected.end(), x.begin() + r * kHidden, x.begin() + (r + 1) * kHidden);
  }
  std::vector<float> out(expected.size());
  const auto run = [&] {
    backend->GatherRows({.x = x.data(),
                         .x_stride = kHidden,
                         .rows = chosen,
                         .width = kHidden,
                         .out = out.data(),
                         .out_stride = kHidden});
  };
  run();
  if (Equals(state, expected, out)) Time(state, rows, run);
}
BENCHMARK(GatherRows)->ArgName("rows")->Arg(1)->Arg(16)->UseRealTime();

}  // namespace
}  // namespace verbatim::bench
