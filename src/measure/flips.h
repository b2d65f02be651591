// RunFlips: how often a model's choice or its logits change when rows share a step, teacher-forced
// and free-running. The numbers only; how they are shown is apps/verbatim/flip_report.h. Not two
// servers (remote_flips.h).
#ifndef VERBATIM_MEASURE_FLIPS_H_
#define VERBATIM_MEASURE_FLIPS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/instrumented_engine.h"
#include "measure/flip_prompts.h"
#include "measure/flip_statistics.h"
#include "measure/gap_histogram.h"
#include "verbatim/engine.h"

namespace verbatim {

struct FlipOptions {
  EngineOptions engine =
      {};  // model, draft_model, contract, num_threads, kv_type; the rest is set here
  BackendWrapper wrap = {};                  // may be empty; for tests of what this must find
  std::vector<FlipPrompt> prompts = {};      // at least one
  std::vector<int> widths = {2, 4, 8, 16};   // rows per block, each 2 to kMaxDraftTokens + 1
  int64_t positions = 10000;                 // teacher-forced; 0: none
  int64_t tokens = 128;                      // free-running, per prompt and arm; 0: none
  std::optional<SpeculationKind> spec = {};  // empty: the MTP head if there is one, else replay
  uint64_t seed = 0;                         // of the sampled texts and of the bootstrap
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
  std::function<bool()> stop = {};  // may be empty; true ends the work with kCancelled
};

// One position at which the choice differs.
struct Flip {
  int64_t prompt = 0;    // index into the prompts
  int64_t text = 0;      // index into the texts; free-running: the prompt's
  int64_t position = 0;  // in the text; free-running: of the output, from 0
  int width = 0;
  int32_t chain_token = 0;
  int32_t block_token = 0;
  std::string chain_text = {}, block_text = {};  // of these tokens; "(end)" behind the last one
  float chain_gap = 0;                           // best minus second-best logit of the chain
  bool state_bug = false;
};

// Blocks of one width against the chain, over all positions.
struct WidthFlips {
  int width = 0;
  Rate flips = {};               // per position, clustered by prompt
  int64_t byte_differences = 0;  // positions whose logits are not the same bits
  int64_t state_bugs = 0;        // flips at a gap that rounding doesn't explain
};

struct TeacherForced {
  int64_t positions = 0;    // each counted once
  int64_t comparisons = 0;  // positions times widths
  int64_t texts = 0;
  int64_t prompts = 0;            // clusters
  int64_t sampled_positions = 0;  // in continuations that the model wrote itself
  std::vector<WidthFlips> widths = {};
  GapHistogram gaps = {};           // of the chain, over the positions
  GapHistogram gaps_at_flips = {};  // over the flips of all widths
  // Changes of the top-2 gap between chain and block at comparisons without a flip.
  double change_median = 0, change_p99 = 0, change_max = 0;
  // A flip at a larger gap is no rounding, see RoundingLimit. nullopt: too few comparisons.
  std::optional<double> rounding_limit = {};
  std::vector<Flip> flips = {};  // the first kMaxFlipsListed of each width
};

// Outputs of one speculation against classic decode, over all prompts.
struct FreeRunningArm {
  int width = 0;          // rows per block: the token and its drafts
  Rate divergences = {};  // per token until the first divergence, clustered by prompt
  std::vector<SurvivalStep> survival = {};  // of the prompts, by output token
  int64_t longest = 0;                      // the last time at which a prompt was seen
  // Prompts with equal tokens whose logits are not the same bits.
  int64_t byte_differences = 0;
  int64_t state_bugs = 0;
  SpeculationStats speculation = {};  // summed over the prompts
  std::vector<Flip> flips = {};       // each first divergence, up to kMaxFlipsListed
};

struct FreeRunning {
  SpeculationKind kind = SpeculationKind::kOff;
  int64_t prompts = 0;
  int64_t tokens = 0;        // at most, per prompt
  std::string not_run = {};  // why there are no arms
  std::vector<FreeRunningArm> arms = {};
};

inline constexpr size_t kMaxFlipsListed = 20;

struct FlipReport {
  EngineInfo info = {};
  uint64_t seed = 0;
  std::optional<TeacherForced> forced = {};
  std::optional<FreeRunning> running = {};

  bool AnyDifference() const;  // a flip, a divergence or a byte
};

// Errors: those of loading, of the texts (flip_texts.h); kInvalidArgument for options out of range;
// kCancelled.
Expected<FlipReport> RunFlips(const FlipOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_FLIPS_H_
