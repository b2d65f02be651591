// FlipTexts: token sequences to score, made of prompts and of the model's own continuations of
// them. Not the scoring (flip_rows.h).
#ifndef VERBATIM_MEASURE_FLIP_TEXTS_H_
#define VERBATIM_MEASURE_FLIP_TEXTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "measure/flip_prompts.h"
#include "verbatim/engine.h"

namespace verbatim {

// Long enough for attention over several hundred positions, short enough that a context of this
// size costs little memory in any model.
inline constexpr int64_t kFlipTextTokens = 1024;
// Tokens of a prompt that a continuation starts from.
inline constexpr int64_t kContinuedTokens = 64;
// Continuations that are sampled at once; rows of a step cost little more than one.
inline constexpr int kSampledAtOnce = 8;
// Between greedy, which soon repeats itself, and 1, which wanders off where the model is unsure.
inline constexpr float kTextTemperature = 0.8F;

struct FlipText {
  int64_t prompt = 0;                   // that it was made of
  std::vector<int32_t> token_ids = {};  // [T]
  // Positions before this one belong to an earlier text and are not counted again.
  int64_t first_counted = 0;
  bool sampled = false;
  int64_t num_counted() const { return static_cast<int64_t>(token_ids.size()) - first_counted; }
};

// The prompts' token ids, chats through the model's template. kInvalidArgument: a prompt of fewer
// than two tokens, which has nothing to compare.
Expected<std::vector<std::vector<int32_t>>> TokenizePrompts(const Engine& engine,
                                                            std::span<const FlipPrompt> prompts);

// Texts with exactly `positions` counted positions, or fewer if `more` is empty: the prompts, cut
// to pieces of kFlipTextTokens, the last one shorter.
std::vector<FlipText> TextsOfPrompts(std::span<const std::vector<int32_t>> prompts,
                                     int64_t positions);

// Adds continuations until `positions` are counted: round by round from the first kContinuedTokens
// of each prompt, sampled at kTextTemperature with a seed of its own, ends of sequence ignored.
// The engine runs kSampledAtOnce requests. `progress` gets the share done. Errors: those of
// requests, kCancelled.
Status AddContinuations(Engine& engine, std::span<const std::vector<int32_t>> prompts,
                        int64_t positions, uint64_t seed, const std::function<bool()>& stop,
                        const std::function<void(double)>& progress, std::vector<FlipText>& texts);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_FLIP_TEXTS_H_
