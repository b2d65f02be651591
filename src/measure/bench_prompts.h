// The prompts of a bench: what is prefilled, and what a decode starts from. Not the measuring.
#ifndef VERBATIM_MEASURE_BENCH_PROMPTS_H_
#define VERBATIM_MEASURE_BENCH_PROMPTS_H_

#include <cstdint>
#include <vector>

#include "measure/bench.h"
#include "verbatim/engine.h"

namespace verbatim {

// Tokens before a decode: long enough that attention has something to read, short enough that a
// decode's prefill does not dominate the run.
inline constexpr int kMaxDecodePromptTokens = 32;

struct BenchPrompts {
  std::vector<int32_t> prefill;  // [options.prompt_tokens]
  std::vector<int32_t> decode;   // at most kMaxDecodePromptTokens
};

// options.prompt repeated until it is long enough, or random ids. Errors: those of Tokenize.
Expected<BenchPrompts> MakeBenchPrompts(const BenchOptions& options, const Engine& engine);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_BENCH_PROMPTS_H_
