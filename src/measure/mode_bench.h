// RunModeBench: what exactness costs. One model in two contract modes, exact and greedy, timed in
// turn in one run. The numbers only; how they are shown is apps/verbatim/mode_report.h.
//
// In exact mode every arm must have one output, bit for bit. In greedy mode, and between the modes,
// outputs may differ: how far they agree is reported.
#ifndef VERBATIM_MEASURE_MODE_BENCH_H_
#define VERBATIM_MEASURE_MODE_BENCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "measure/bench.h"
#include "measure/statistics.h"
#include "verbatim/engine.h"

namespace verbatim {

// How far two outputs of one request agree.
struct Agreement {
  int64_t tokens = 0;         // of each
  int64_t equal_tokens = 0;   // before the first that differs
  bool equal_logits = false;  // of every position, bit for bit
};

struct ModeSpeed {
  EngineInfo info;
  Summary prefill_ms;
  Summary classic_tokens_per_s;
  // Without an MTP head none.
  std::optional<Summary> mtp_tokens_per_s;
  std::optional<Summary> mtp_speedup;  // over classic decode of the same mode, round by round
  SpeculationStats mtp_stats;
  Agreement mtp_agreement;  // with classic decode of the same mode
};

struct ModeReport {
  int prompt_tokens = 0, decode_tokens = 0, decode_prompt_tokens = 0, draft_tokens = 0, rounds = 0;
  // What differed in exact mode, in a sentence; no speed is filled then.
  std::optional<std::string> difference;
  std::array<ModeSpeed, 2> modes;  // exact, greedy
  Agreement classic_agreement;     // of the modes
  // Time in exact mode over time in greedy mode, round by round: above 1, exactness costs time.
  Summary prefill_cost;
  Summary classic_cost;
  std::optional<Summary> mtp_cost;
};

// options.engine.contract is set here. Errors: those of RunBench; kUnsupported: this build has no
// backend that is only greedy.
Expected<ModeReport> RunModeBench(const BenchOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_MODE_BENCH_H_
