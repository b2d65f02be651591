// The benchmark program: Google Benchmark's main, with the float environment of the engine.
#include <cstdio>
#include <cstdlib>

#include "base/float_environment.h"
#include "bench/bench_support.h"

namespace verbatim::bench {

std::unique_ptr<ops::Backend> MakeBackend() {
  const char* threads = std::getenv("VERBATIM_BENCH_THREADS");
  auto backend =
      cpu::CreateCpuBackend({.num_threads = threads == nullptr ? 1 : std::atoi(threads)});
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().message().c_str());
    std::exit(1);
  }
  return *std::move(backend);
}

bool Equals(benchmark::State& state, std::span<const float> expected,
            std::span<const float> received) {
  if (cpu::SameBits(expected, received)) return true;
  state.SkipWithError("the result is not the reference's");
  return false;
}

}  // namespace verbatim::bench

int main(int argc, char** argv) {
  const verbatim::FloatEnvironment environment;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::string target(verbatim::bench::MakeBackend()->target());
  benchmark::AddCustomContext("target", target);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
