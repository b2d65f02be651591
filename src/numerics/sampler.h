// Sampler: the choice of one sequence's next token, as numerics.md section 9 defines it. Equal bit
// for bit to reference/select.h. Not the check for NaN, and not the text of banned strings.
//
// The choice depends on the logits, the options and the tokens so far alone: not on how many rows a
// block has, nor on which of them were drafted.
#ifndef VERBATIM_NUMERICS_SAMPLER_H_
#define VERBATIM_NUMERICS_SAMPLER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/token_counts.h"
#include "verbatim/sampling.h"

namespace verbatim::numerics {

// Scratch of one choice; one serves all sequences, since choices are made one after the other.
struct SamplerScratch {
  explicit SamplerScratch(int64_t vocab_size) : values(vocab_size) {
    keys.reserve(vocab_size);
    kept.reserve(vocab_size);
  }
  std::vector<float> values;   // [V] logits after the steps but the filters; banned ids: -infinity
  int32_t best = 0;            // Argmax(values)
  bool filtered = false;       // top-k, top-p or min-p left `kept`; else all of `values`
  std::vector<int32_t> kept;   // ascending ids
  std::vector<uint64_t> keys;  // CandidateKeys of a filter
};

struct SamplerLimits {
  int64_t vocab_size = 0;
  int64_t num_choosable = 0;  // ids from here on are padding columns, never chosen
  std::span<const int32_t> eos_ids = {};
  int64_t max_output = 0;  // tokens that may be pushed, drafts included
};

// What may not be chosen at one position, beyond the options' own bans.
struct Bans {
  std::span<const int32_t> ids = {};
  // Of a grammar: bit id % 32 of word id / 32 is 1 where the id is allowed. Empty: all are.
  std::span<const uint32_t> allowed = {};
};

class Sampler {
 public:
  // Whether the options ask for more than the largest logit.
  static bool IsNeeded(const SamplingOptions& options);

  // `options` as checked; ids in it are below vocab_size. What `options`, `prompt` and `limits`
  // refer to must outlive it.
  Sampler(const SamplingOptions& options, const SamplerLimits& limits,
          std::span<const int32_t> prompt);

  static constexpr int32_t kAllBanned = -1;
  static constexpr int32_t kInfinite = -2;

  // The token at the end of what was pushed, from its logits [V], without NaN. kAllBanned: no id is
  // left; kInfinite: the largest logit is +infinity, which has no probabilities. Fills `logprobs`
  // if it is not null and the options ask for it. Allocates nothing, but for logprobs.
  int32_t Choose(std::span<const float> logits, const Bans& bans, SamplerScratch& scratch,
                 TokenLogprobs* logprobs);

  // What a drafter proposes from its own logits: the same steps, with the same noise or (to measure
  // what that is worth) with none.
  int32_t Draft(std::span<const float> logits, bool with_noise, SamplerScratch& scratch);

  // The output grows by a token, or loses its last one.
  void Push(int32_t id);
  void Pop(int32_t id);

 private:
  void Process(std::span<const float> logits, const Bans& bans, SamplerScratch& scratch) const;
  void ApplyPenalties(std::span<float> values) const;
  void Filter(SamplerScratch& scratch) const;
  void KeepTopP(SamplerScratch& scratch) const;
  void KeepMinP(SamplerScratch& scratch) const;
  int32_t ChooseNoisy(const SamplerScratch& scratch) const;
  void AddLogprobs(std::span<const float> logits, int32_t token, SamplerScratch& scratch,
                   TokenLogprobs& logprobs) const;

  const SamplingOptions& options_;
  SamplerLimits limits_;
  int64_t prompt_size_;
  int64_t output_size_ = 0;
  std::optional<TokenCounts> counts_;  // with penalties only
};

}  // namespace verbatim::numerics

#endif  // VERBATIM_NUMERICS_SAMPLER_H_
