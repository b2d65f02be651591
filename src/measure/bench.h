// RunBench: one interleaved run that times a model and the machine under it, and the limit of each
// step. The numbers only; how they are shown is apps/verbatim/bench_report.h.
#ifndef VERBATIM_MEASURE_BENCH_H_
#define VERBATIM_MEASURE_BENCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/machine.h"
#include "measure/statistics.h"
#include "measure/timed_backend.h"
#include "measure/work.h"
#include "verbatim/engine.h"

namespace verbatim {

struct BenchOptions {
  EngineOptions engine;     // model, draft_model and num_threads; the rest is set here
  std::string prompt;       // text to decode from; empty: random token ids
  int prompt_tokens = 512;  // of the prefill
  int decode_tokens =
      65;  // of each decode: with 65, four whole blocks of 16 rows after the first token
  int draft_tokens = 3;
  int rounds = 5;
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
  std::function<bool()> stop = {};  // may be empty; true ends the work with kCancelled
  std::function<void()> on_loaded =
      {};  // may be empty; the checkpoint's files are no longer needed
};

// The smallest decode_tokens: one block of 16 rows after the first token.
inline constexpr int kMinDecodeTokens = 1 + (kMaxDraftTokens + 1);

struct Timed {
  Summary ms;
  Work work;
  Limit limit;
  // The limit's time over the measured median: 1 is as fast as this machine can.
  double Share() const { return ms.median > 0 ? 1000 * limit.seconds() / ms.median : 0; }
};

struct PartTime {
  Part part;
  Timed timed;  // of one step
};

// A step taken apart. Times inside ops, and what is left of the step's wall time.
struct Anatomy {
  std::vector<PartTime> parts;  // those that occur
  Timed matrices;               // the parts that the limit counts, together
  Summary wall_ms;
  Summary outside_ms;     // wall time outside of ops: choice of tokens, bookkeeping
  Summary outside_share;  // of the wall time
};

struct DecodeSpeed {
  Timed per_token;
  Summary tokens_per_s;
  Summary speedup;         // over classic decode, round by round
  SpeculationStats stats;  // of one run; every run does the same
};

struct BandwidthResult {
  int64_t bytes = 0;         // read over and over
  ReadSetting setting = {};  // the best
  Summary bytes_per_s = {};
};

struct BenchReport {
  EngineInfo info;
  int prompt_tokens = 0, decode_tokens = 0, decode_prompt_tokens = 0, draft_tokens = 0, rounds = 0;
  // What differed, in a sentence; nothing below is filled then.
  std::optional<std::string> difference;

  BandwidthResult memory;
  // Over as many bytes as a decode step reads, where those fit into the last-level cache; the
  // limits then take this one.
  std::optional<BandwidthResult> cache;
  Summary fmas_per_s;
  std::vector<std::pair<int, Summary>> dots_per_s;  // by bits of the weights
  Peaks peaks;

  Timed prefill;  // prompt_tokens, with the logits of the last
  std::vector<Timed>
      rows;  // [16]: a whole step of 1 to 16 rows, logits and choice of tokens included
  DecodeSpeed classic;
  std::optional<DecodeSpeed> mtp;  // none: the checkpoint has no head
  // Drafts from the known output: an upper bound for any drafter, never a drafter's speed.
  DecodeSpeed perfect;
  Anatomy step;                                 // of classic decode
  std::vector<std::pair<int, Anatomy>> blocks;  // of blocks of so many rows, the perfect drafter's
  std::optional<Anatomy> drafter;               // all that the MTP head does for one block
};

// An output that must equal the others'.
struct ArmOutput {
  std::string name;
  std::vector<int32_t> token_ids;
  std::string logits_sha256;
};

// A sentence on the first arm that differs from arms[0]; nullopt: all are equal.
std::optional<std::string> FindDifference(std::span<const ArmOutput> arms);

// kInvalidArgument: a count that is too small.
Status CheckBenchOptions(const BenchOptions& options);

// Errors: those of loading; kResourceExhausted (less memory than weights), kInvalidArgument,
// kCancelled.
Expected<BenchReport> RunBench(const BenchOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_BENCH_H_
