// The steps of section 9, each over as few ids as it can.
#include "numerics/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "numerics/argmax.h"
#include "numerics/elementary.h"
#include "numerics/log_softmax.h"
#include "numerics/noise.h"

namespace verbatim::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Ids this far below the largest (a share of e^-10 of it) seldom matter to top-p. If they do, all
// are sorted.
constexpr float kUsualTopPRange = 10;

bool HasPenalties(const SamplingOptions& options) {
  return options.repetition_penalty != 1 || options.frequency_penalty != 0 ||
         options.presence_penalty != 0;
}

// Whole words of 32 allowed ids are the usual case in free text, of none in a tight grammar.
void BanAllBut(std::span<const uint32_t> allowed, std::span<float> values) {
  for (size_t first = 0; first < values.size(); first += 32) {
    const uint32_t word = allowed[first / 32];
    if (word == ~uint32_t{0}) continue;
    const size_t end = std::min(first + 32, values.size());
    for (size_t id = first; id < end; ++id) {
      if ((word >> (id - first) & 1) == 0) values[id] = -kInfinity;
    }
  }
}

bool HasFilters(const SamplingOptions& options) {
  return options.top_k > 0 || options.top_p < 1 || options.min_p > 0;
}

void KeepIds(std::span<const uint64_t> keys, SamplerScratch& scratch) {
  scratch.kept.clear();
  for (const uint64_t key : keys) scratch.kept.push_back(CandidateId(key));
  std::ranges::sort(scratch.kept);
  scratch.filtered = true;
}

float SumOfKept(const SamplerScratch& scratch) {
  const float max = scratch.values[scratch.best];
  return scratch.filtered ? SumOfExponentials(scratch.values, scratch.kept, max)
                          : SumOfExponentials(scratch.values, max);
}

// Sorts `keys` and shortens them to the fewest whose weights' chain reaches `target`. False: it
// does not reach it; the keys then stay.
bool CutAtTarget(std::span<const float> values, float max, float target,
                 std::vector<uint64_t>& keys) {
  std::ranges::sort(keys, std::greater());
  float chain = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    chain += elementary::Exp(values[CandidateId(keys[i])] - max);
    if (chain < target) continue;
    keys.resize(i + 1);
    return true;
  }
  return false;
}

std::vector<TokenLogprob> TopLogprobs(std::span<const float> logits, const LogSoftmax& softmax,
                                      std::vector<uint64_t>& keys) {
  std::ranges::sort(keys, std::greater());
  std::vector<TokenLogprob> top;
  top.reserve(keys.size());
  for (const uint64_t key : keys) {
    const int32_t id = CandidateId(key);
    top.push_back({id, softmax.LogProbability(logits[id])});
  }
  return top;
}

}  // namespace

bool Sampler::IsNeeded(const SamplingOptions& options) {
  return options.temperature > 0 || HasPenalties(options) || !options.logit_bias.empty() ||
         !options.banned_token_ids.empty() || !options.banned_strings.empty() ||
         options.min_tokens > 0 || options.logprobs >= 0;
}

Sampler::Sampler(const SamplingOptions& options, const SamplerLimits& limits,
                 std::span<const int32_t> prompt)
    : options_(options), limits_(limits), prompt_size_(static_cast<int64_t>(prompt.size())) {
  if (HasPenalties(options)) counts_.emplace(limits.vocab_size, prompt, limits.max_output);
}

void Sampler::Push(int32_t id) {
  ++output_size_;
  if (counts_) counts_->Push(id);
}

void Sampler::Pop(int32_t id) {
  --output_size_;
  if (counts_) counts_->Pop(id);
}

void Sampler::ApplyPenalties(std::span<float> values) const {
  const float repetition = options_.repetition_penalty;
  for (const int32_t id : counts_->seen()) {
    float& l = values[id];
    l = l > 0 ? l / repetition : l * repetition;
    const int32_t count = counts_->output_count(id);
    if (count == 0) continue;
    l = (l - static_cast<float>(count) * options_.frequency_penalty) - options_.presence_penalty;
  }
}

void Sampler::Process(std::span<const float> logits, const Bans& bans,
                      SamplerScratch& scratch) const {
  const std::span<float> values = scratch.values;
  std::ranges::copy(logits, values.begin());
  if (counts_) ApplyPenalties(values);
  for (const LogitBias& entry : options_.logit_bias) values[entry.token_id] += entry.bias;
  for (const int32_t id : options_.banned_token_ids) values[id] = -kInfinity;
  for (const int32_t id : bans.ids) values[id] = -kInfinity;
  if (!bans.allowed.empty()) BanAllBut(bans.allowed, values.first(limits_.num_choosable));
  if (output_size_ < options_.min_tokens) {
    for (const int32_t id : limits_.eos_ids) values[id] = -kInfinity;
  }
  std::ranges::fill(values.subspan(limits_.num_choosable), -kInfinity);
  if (options_.temperature > 0) {
    const float inverse = 1 / options_.temperature;
    for (float& l : values) l *= inverse;
  }
  scratch.best = Argmax(values);
  scratch.filtered = false;
}

void Sampler::Filter(SamplerScratch& scratch) const {
  if (options_.top_k > 0 && options_.top_k < limits_.num_choosable) {
    GatherBest(scratch.values, static_cast<size_t>(options_.top_k), scratch.keys);
    KeepIds(scratch.keys, scratch);
  }
  if (options_.top_p < 1) KeepTopP(scratch);
  if (options_.min_p > 0) KeepMinP(scratch);
}

void Sampler::KeepTopP(SamplerScratch& scratch) const {
  const std::span<const float> values = scratch.values;
  const float max = values[scratch.best];
  const float target = options_.top_p * SumOfKept(scratch);
  const auto gather = [&](float least) {
    scratch.keys.clear();
    const auto add = [&](int32_t id) {
      if (values[id] >= least) scratch.keys.push_back(CandidateKey(values[id], id));
    };
    if (scratch.filtered) {
      for (const int32_t id : scratch.kept) add(id);
    } else {
      for (int32_t id = 0; id < limits_.num_choosable; ++id) add(id);
    }
  };
  gather(max - kUsualTopPRange);
  if (!CutAtTarget(values, max, target, scratch.keys)) {
    // The largest finite negative number: everything but what is banned.
    gather(std::numeric_limits<float>::lowest());
    CutAtTarget(values, max, target, scratch.keys);
  }
  KeepIds(scratch.keys, scratch);
}

void Sampler::KeepMinP(SamplerScratch& scratch) const {
  const std::span<const float> values = scratch.values;
  const float max = values[scratch.best];
  const auto removed = [&](int32_t id) {
    return elementary::Exp(values[id] - max) < options_.min_p;
  };
  if (scratch.filtered) {
    std::erase_if(scratch.kept, removed);
    return;
  }
  // Exp is right to far better than 1 in 100, so that what lies 0.01 below the logarithm of min_p
  // need not be asked.
  const float least = elementary::Log(options_.min_p) - 0.01F;
  scratch.kept.clear();
  for (int32_t id = 0; id < limits_.num_choosable; ++id) {
    if (values[id] - max >= least && !removed(id)) scratch.kept.push_back(id);
  }
  scratch.filtered = true;
}

int32_t Sampler::ChooseNoisy(const SamplerScratch& scratch) const {
  const std::span<const float> values = scratch.values;
  const NoiseSource source = {.seed = options_.seed,
                              .choice = options_.choice,
                              .position = static_cast<uint64_t>(prompt_size_ + output_size_)};
  int32_t best = scratch.best;
  float best_value = -kInfinity;
  const auto consider = [&](int32_t id, float value) {
    if (value > best_value) {
      best_value = value;
      best = id;
    }
  };
  if (scratch.filtered) {
    for (const int32_t id : scratch.kept) consider(id, values[id] + Noise(source, id));
    return best;
  }
  // Sums in binary32 are monotone: what does not reach this with the most noise can't win.
  const float bound = values[scratch.best] + Noise(source, scratch.best);
  const auto num_ids = static_cast<int32_t>(limits_.num_choosable);
  for (int32_t first = 0; first < num_ids; first += 4) {
    const int32_t end = std::min(first + 4, num_ids);
    bool candidate = false;
    for (int32_t id = first; id < end; ++id) candidate |= values[id] + kNoiseBound >= bound;
    if (!candidate) continue;
    const PhiloxCounter words = NoiseWords(source, static_cast<uint32_t>(first) >> 2);
    for (int32_t id = first; id < end; ++id) {
      if (values[id] + kNoiseBound < bound) continue;
      consider(id, values[id] + NoiseOfWord(words[id - first]));
    }
  }
  return best;
}

int32_t Sampler::Choose(std::span<const float> logits, const Bans& bans, SamplerScratch& scratch,
                        TokenLogprobs* logprobs) {
  Process(logits, bans, scratch);
  const float max = scratch.values[scratch.best];
  if (max == -kInfinity) return kAllBanned;
  if (max == kInfinity) return kInfinite;
  int32_t token = scratch.best;
  if (options_.temperature > 0) {
    if (HasFilters(options_)) Filter(scratch);
    token = ChooseNoisy(scratch);
  }
  if (logprobs != nullptr && options_.logprobs >= 0) {
    AddLogprobs(logits, token, scratch, *logprobs);
  }
  return token;
}

int32_t Sampler::Draft(std::span<const float> logits, bool with_noise, SamplerScratch& scratch) {
  Process(logits, {}, scratch);
  if (options_.temperature == 0 || !with_noise) return scratch.best;
  const float max = scratch.values[scratch.best];
  if (max == -kInfinity || max == kInfinity) return scratch.best;
  if (HasFilters(options_)) Filter(scratch);
  return ChooseNoisy(scratch);
}

void Sampler::AddLogprobs(std::span<const float> logits, int32_t token, SamplerScratch& scratch,
                          TokenLogprobs& logprobs) const {
  const auto count = static_cast<size_t>(options_.logprobs);
  const LogSoftmax raw = LogSoftmax::Of(logits);
  logprobs.raw = raw.LogProbability(logits[token]);
  const std::span<const float> values = scratch.values;
  const LogSoftmax processed = {.max = values[scratch.best],
                                .log_sum = elementary::Log(SumOfKept(scratch))};
  logprobs.processed = processed.LogProbability(values[token]);
  if (count == 0) return;
  if (scratch.filtered) {
    scratch.keys.clear();
    for (const int32_t id : scratch.kept) scratch.keys.push_back(CandidateKey(values[id], id));
    std::ranges::sort(scratch.keys, std::greater());
    scratch.keys.resize(std::min(scratch.keys.size(), count));
  } else {
    GatherBest(values, count, scratch.keys);
  }
  logprobs.top_processed = TopLogprobs(values, processed, scratch.keys);
  GatherBest(logits.first(limits_.num_choosable), count, scratch.keys);
  logprobs.top_raw = TopLogprobs(logits, raw, scratch.keys);
}

}  // namespace verbatim::numerics
