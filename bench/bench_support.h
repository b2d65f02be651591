// What the kernel benchmarks share: the backend that users run, and the check before the clock. Not
// a benchmark.
#ifndef VERBATIM_BENCH_BENCH_SUPPORT_H_
#define VERBATIM_BENCH_BENCH_SUPPORT_H_

#include <benchmark/benchmark.h>

#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "ops/backend.h"
#include "tests/backend/state_op_test_util.h"

namespace verbatim::bench {

// A fresh backend: VERBATIM_BENCH_THREADS threads (1 if not set), VERBATIM_TARGET's instruction
// set. Ends the program with the reason if there is none.
std::unique_ptr<ops::Backend> MakeBackend();

// Says so in the benchmark's line and returns false if `received` is not the reference's output.
bool Equals(benchmark::State& state, std::span<const float> expected,
            std::span<const float> received);

// Runs `op` until the clock has enough; per iteration it handles `rows` rows.
template <typename Op>
void Time(benchmark::State& state, int rows, const Op& op) {
  for (auto _ : state) op();
  state.SetItemsProcessed(state.iterations() * rows);
}

}  // namespace verbatim::bench

#endif  // VERBATIM_BENCH_BENCH_SUPPORT_H_
