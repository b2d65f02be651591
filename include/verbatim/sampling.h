// SamplingOptions and TokenLogprobs: how a request's tokens are chosen from logits, and what may be
// reported about the choice. Not the choice itself (docs/numerics.md, "The choice of a token").
#ifndef VERBATIM_SAMPLING_H_
#define VERBATIM_SAMPLING_H_

#include <cstdint>
#include <string>
#include <vector>

namespace verbatim {

inline constexpr int kMaxTopLogprobs = 100;
// Below this the reciprocal takes logits out of binary32's range; 0 is greedy.
inline constexpr float kMinTemperature = 1e-5F;
inline constexpr float kMaxTemperature = 100;
inline constexpr float kMaxPenalty = 100;  // of every penalty; a bias is at most ten times that
inline constexpr float kMaxBias = 1000;

struct LogitBias {
  int32_t token_id = 0;
  float bias = 0;
};

// The steps in their order. Each default leaves the logits alone; with all of them the choice is
// greedy: the largest logit, of equal ones the lowest id.
struct SamplingOptions {
  // l > 0 ? l / r : l * r for every id of the prompt or the output, as vLLM and transformers have
  // it (llama.cpp: of the last 64 tokens).
  float repetition_penalty = 1;  // above 0, at most kMaxPenalty
  // l - count * frequency - presence for every id of the output, as OpenAI and vLLM have it
  // (llama.cpp: of prompt and output, the last 64 tokens).
  float frequency_penalty = 0;             // -kMaxPenalty to kMaxPenalty
  float presence_penalty = 0;              // -kMaxPenalty to kMaxPenalty
  std::vector<LogitBias> logit_bias = {};  // added; an id at most once
  std::vector<int32_t> banned_token_ids = {};
  // Texts that the output (not the prompt) never has, however it is cut into tokens. Not empty.
  std::vector<std::string> banned_strings = {};
  int64_t min_tokens =
      0;                  // end-of-sequence ids are banned, stop strings not looked for, up to here
  float temperature = 0;  // 0: greedy, what follows does nothing; else kMinTemperature and up
  int64_t top_k = 0;      // keep that many of the largest; 0: all
  float top_p = 1;      // keep the fewest of the largest with that much of the probability; 1: all
  float min_p = 0;      // keep those with that share of the largest one's probability; 0: all
  uint64_t seed = 0;    // the same seed, prompt and options give the same tokens
  uint32_t choice = 0;  // of several answers to one request
  // -1: none; 0: of the chosen token; n: also of the n most probable, up to kMaxTopLogprobs.
  int logprobs = -1;
};

struct TokenLogprob {
  int32_t token_id = 0;
  float logprob = 0;
};

// Natural logarithms. "Raw" is the model's own distribution, over the whole vocabulary; "processed"
// is the one that was drawn from, after every step above (at temperature 0: after the bans, where
// the temperature would be 1); what the steps removed has -infinity there and is not in the list.
struct TokenLogprobs {
  float raw = 0;                           // of the chosen token
  float processed = 0;                     // of the chosen token
  std::vector<TokenLogprob> top_raw = {};  // descending, of equal ones the lowest id first
  std::vector<TokenLogprob> top_processed = {};
};

}  // namespace verbatim

#endif  // VERBATIM_SAMPLING_H_
