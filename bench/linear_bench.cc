// Linears of every weight type, over blocks of 1 to 16 rows, from memory and from cache.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "bench/bench_support.h"
#include "tests/backend/linear_cases.h"

namespace verbatim::bench {
namespace {

// An up projection of the 0.8B shape: weights of 2 to 7 MB.
constexpr int64_t kOutputs = 3584;
constexpr int64_t kInputs = 1024;
// Copies of the matrix in turn, so that each is out of the caches when its turn comes again.
constexpr int64_t kStreamedBytes = int64_t{256} << 20;

void Linear(benchmark::State& state, WeightFormat format, bool from_memory) {
  const int rows = static_cast<int>(state.range(0));
  const auto backend = MakeBackend();
  const cpu::LinearCase one(format, kOutputs, kInputs, 1);
  std::vector<std::unique_ptr<ops::PreparedLinear>> copies;
  int64_t bytes = 0;
  do {
    auto prepared = backend->PrepareLinear(one.matrix());
    if (!prepared.ok()) return state.SkipWithError(prepared.status().message().c_str());
    bytes += (*prepared)->bytes();
    copies.push_back(*std::move(prepared));
  } while (from_memory && bytes < kStreamedBytes);
  if (!backend->Reserve(cpu::Needs(rows, kInputs)).ok()) return state.SkipWithError("memory");

  cpu::Random random(2);
  const std::vector<float> x = random.Values(rows * kInputs);
  std::vector<float> out(rows * kOutputs);
  size_t turn = 0;
  const auto run = [&] {
    const ops::LinearTask task[] = {
        {.weights = copies[turn].get(), .out = out.data(), .out_stride = kOutputs}};
    turn = (turn + 1) % copies.size();
    backend->Linear({.x = x.data(), .x_stride = kInputs, .num_rows = rows, .tasks = task});
  };
  run();
  if (!Equals(state, one.Reference(x, rows), out)) return;
  Time(state, rows, run);
  state.SetBytesProcessed(state.iterations() * copies.front()->bytes());  // of weights
}

void Embed(benchmark::State& state, WeightFormat format) {
  const auto backend = MakeBackend();
  const cpu::LinearCase table(format, 4096, kInputs, 1);
  auto prepared = backend->PrepareLinear(table.matrix());
  if (!prepared.ok()) return state.SkipWithError(prepared.status().message().c_str());
  const std::vector<int32_t> ids = {17, 4095, 0, 1234};
  std::vector<float> out(ids.size() * kInputs);
  std::vector<float> expected(out.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    table.ReferenceEmbed(ids[i], expected.data() + i * kInputs);
  }
  const auto run = [&] {
    backend->Embed(
        {.table = prepared->get(), .ids = ids, .out = out.data(), .out_stride = kInputs});
  };
  run();
  if (Equals(state, expected, out)) Time(state, static_cast<int>(ids.size()), run);
}

const bool registered = [] {
  std::vector<WeightFormat> formats = {{.type = WeightType::kBF16}, {.type = WeightType::kF16}};
  for (const int bits : {8, 6, 5, 4, 3, 2}) {
    formats.push_back({.type = WeightType::kAffine, .bits = bits, .group_size = 64});
  }
  for (const WeightFormat& format : formats) {
    for (const bool from_memory : {true, false}) {
      const std::string name =
          fmt::format("linear/{}/{}", FormatName(format), from_memory ? "memory" : "cache");
      auto* entry = benchmark::RegisterBenchmark(name.c_str(), Linear, format, from_memory);
      for (const int rows : {1, 2, 3, 4, 8, 16}) entry->Arg(rows);
      entry->ArgName("rows")->UseRealTime();
    }
    benchmark::RegisterBenchmark(fmt::format("embed/{}", FormatName(format)).c_str(), Embed,
                                 format);
  }
  return true;
}();

}  // namespace
}  // namespace verbatim::bench
