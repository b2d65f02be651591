// The sampler against the reference, bit for bit, over random logits and options; its draws against
// the exact probabilities; and the corners that a formula hides.
#include "numerics/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "numerics/noise.h"
#include "numerics/reference/select.h"
#include "tests/numerics/splitmix.h"

namespace verbatim::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Case {
  std::vector<float> logits;
  int64_t num_choosable = 0;
  std::vector<int32_t> prompt, output, eos_ids, banned;
  std::vector<uint32_t> allowed;  // empty, or a bit an id
  SamplingOptions options;

  Bans bans() const { return {.ids = banned, .allowed = allowed}; }
  reference::SelectInput ReferenceInput() const {
    return {.logits = logits,
            .num_choosable = num_choosable,
            .prompt = prompt,
            .output = output,
            .eos_ids = eos_ids,
            .banned_ids = banned,
            .allowed = allowed};
  }
  Sampler MakeSampler() const {
    Sampler sampler(options,
                    {.vocab_size = static_cast<int64_t>(logits.size()),
                     .num_choosable = num_choosable,
                     .eos_ids = eos_ids,
                     .max_output = static_cast<int64_t>(output.size()) + 1},
                    prompt);
    for (const int32_t id : output) sampler.Push(id);
    return sampler;
  }
  int32_t Choose(TokenLogprobs* logprobs = nullptr) const {
    SamplerScratch scratch(static_cast<int64_t>(logits.size()));
    return MakeSampler().Choose(logits, bans(), scratch, logprobs);
  }
};

std::vector<int32_t> RandomIds(SplitMix& random, uint32_t count, uint32_t vocab_size) {
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) id = static_cast<int32_t>(random.Below(vocab_size));
  return ids;
}

Case RandomCase(SplitMix& random) {
  Case c;
  const uint32_t vocab_size = 1 + random.Below(random.Below(8) == 0 ? 3000 : 130);
  // Coarse steps give ties; large scales make one id certain, small ones make all alike.
  const float scale = std::ldexp(1.0F, static_cast<int>(random.Below(9)) - 2);
  c.logits = random.Uniforms(vocab_size, scale);
  if (random.Below(3) == 0) {
    for (float& l : c.logits) l = std::round(l);
  }
  if (random.Below(6) == 0) c.logits[random.Below(vocab_size)] = -kInf;
  c.num_choosable = vocab_size - random.Below(std::min(vocab_size, 6U));
  c.prompt = RandomIds(random, 1 + random.Below(20), vocab_size);
  c.output = RandomIds(random, random.Below(20), vocab_size);
  c.eos_ids = RandomIds(random, random.Below(3), vocab_size);
  c.banned = RandomIds(random, random.Below(3), vocab_size);
  if (random.Below(4) == 0) {
    constexpr uint32_t kMasks[] = {0, ~0U, 0xF0F0F0F0, 1};
    for (uint32_t id = 0; id < vocab_size; id += 32) {
      c.allowed.push_back(random.Below(2) == 0 ? kMasks[random.Below(4)]
                                               : static_cast<uint32_t>(random.Next()));
    }
  }
  SamplingOptions& options = c.options;
  const auto sometimes = [&](auto& field, auto value) {
    if (random.Below(2) == 0) field = value;
  };
  sometimes(options.repetition_penalty, 1 + random.Uniform() * 0.9F);
  sometimes(options.frequency_penalty, random.Uniform() * 2);
  sometimes(options.presence_penalty, random.Uniform() * 2);
  sometimes(options.banned_token_ids, RandomIds(random, random.Below(4), vocab_size));
  sometimes(options.min_tokens, random.Below(30));
  for (uint32_t i = random.Below(4); i > 0; --i) {
    options.logit_bias.push_back(
        {static_cast<int32_t>(random.Below(vocab_size)), random.Uniform() * 5});
  }
  constexpr float kTemperatures[] = {0, 0.1F, 0.8F, 1, 3, kMinTemperature};
  options.temperature = kTemperatures[random.Below(6)];
  sometimes(options.top_k, 1 + random.Below(vocab_size + 3));
  sometimes(options.top_p, std::fabs(random.Uniform()));
  sometimes(options.min_p, std::fabs(random.Uniform()) * (random.Below(2) == 0 ? 1 : 0.01F));
  options.seed = random.Next();
  options.choice = random.Below(3);
  options.logprobs = static_cast<int>(random.Below(8)) - 1;
  return c;
}

bool SameBits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

void ExpectSame(const std::vector<TokenLogprob>& a, const std::vector<TokenLogprob>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token_id, b[i].token_id) << i;
    EXPECT_TRUE(SameBits(a[i].logprob, b[i].logprob)) << i;
  }
}

TEST(Sampler, EqualsTheReferenceBitForBit) {
  SplitMix random(3);
  int chosen = 0;
  for (int round = 0; round < 8000 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    const Case c = RandomCase(random);
    const reference::SelectOutput expected = reference::Select(c.ReferenceInput(), c.options);
    TokenLogprobs logprobs;
    const int32_t token = c.Choose(&logprobs);
    ASSERT_EQ(token, expected.token == -1 ? Sampler::kAllBanned : expected.token);
    if (token < 0 || c.options.logprobs < 0) continue;
    ++chosen;
    EXPECT_TRUE(SameBits(logprobs.raw, expected.logprobs.raw));
    EXPECT_TRUE(SameBits(logprobs.processed, expected.logprobs.processed));
    ExpectSame(logprobs.top_raw, expected.logprobs.top_raw);
    ExpectSame(logprobs.top_processed, expected.logprobs.top_processed);
  }
  EXPECT_GT(chosen, 5000);
}

// What drafting does: tokens pushed for drafts and popped again leave no trace.
TEST(Sampler, PoppedDraftsLeaveNoTrace) {
  SplitMix random(4);
  for (int round = 0; round < 500; ++round) {
    const Case c = RandomCase(random);
    Sampler sampler = c.MakeSampler();
    const auto vocab_size = static_cast<uint32_t>(c.logits.size());
    const std::vector<int32_t> drafts = RandomIds(random, 5, vocab_size);
    for (const int32_t id : drafts) sampler.Push(id);
    for (size_t i = drafts.size(); i > 0; --i) sampler.Pop(drafts[i - 1]);
    SamplerScratch scratch(vocab_size);
    ASSERT_EQ(sampler.Choose(c.logits, c.bans(), scratch, nullptr), c.Choose()) << round;
  }
}

// Given the target's own logits, the drafter's choice is the target's.
TEST(Sampler, DraftsFromTheSameLogitsAreRight) {
  SplitMix random(5);
  for (int round = 0; round < 2000; ++round) {
    Case c = RandomCase(random);
    c.banned.clear();
    c.allowed.clear();
    SamplerScratch scratch(static_cast<int64_t>(c.logits.size()));
    const int32_t token = c.Choose();
    if (token < 0) continue;
    ASSERT_EQ(c.MakeSampler().Draft(c.logits, true, scratch), token) << round;
  }
}

// Pearson's statistic of `draws` tokens at as many positions, against its distribution for so many
// degrees of freedom by Wilson and Hilferty's cube root: the number of standard deviations.
double ChiSquareDeviations(Case c, int64_t draws) {
  const std::vector<double> probabilities = reference::Probabilities(c.ReferenceInput(), c.options);
  std::vector<int64_t> counts(c.logits.size());
  SamplerScratch scratch(static_cast<int64_t>(c.logits.size()));
  const int64_t seed_step = 1 + c.options.choice;
  for (int64_t i = 0; i < draws; ++i) {
    c.options.seed += seed_step;
    const int32_t token = c.MakeSampler().Choose(c.logits, c.bans(), scratch, nullptr);
    ++counts[token];
  }
  double statistic = 0;
  double rest_expected = 0, rest_counted = 0;  // cells with less than 5 expected, together
  int cells = 0;
  const auto add = [&](double expected, double counted) {
    statistic += (counted - expected) * (counted - expected) / expected;
    ++cells;
  };
  for (size_t id = 0; id < counts.size(); ++id) {
    const double expected = probabilities[id] * static_cast<double>(draws);
    if (expected == 0) {
      EXPECT_EQ(counts[id], 0) << id << " was removed";
      continue;
    }
    if (expected >= 5) {
      add(expected, static_cast<double>(counts[id]));
    } else {
      rest_expected += expected;
      rest_counted += static_cast<double>(counts[id]);
    }
  }
  if (rest_expected >= 5) add(rest_expected, rest_counted);
  const double freedom = cells - 1;
  const double variance = 2 / (9 * freedom);
  return (std::cbrt(statistic / freedom) - (1 - variance)) / std::sqrt(variance);
}

Case DistributionCase() {
  SplitMix random(6);
  Case c;
  c.logits = random.Uniforms(60, 4);
  c.num_choosable = 57;
  c.prompt = {1, 2, 3};
  c.output = {4, 4, 5};
  c.options.temperature = 0.8F;
  return c;
}

constexpr int64_t kDraws = 200000;
// One in 3 million: seeds are fixed, so this fails for a wrong distribution only.
constexpr double kMostDeviations = 5;

TEST(SamplerDistribution, Temperature) {
  EXPECT_LT(std::fabs(ChiSquareDeviations(DistributionCase(), kDraws)), kMostDeviations);
}

TEST(SamplerDistribution, SeedsOfEveryChoiceIndex) {
  Case c = DistributionCase();
  c.options.choice = 7;
  EXPECT_LT(std::fabs(ChiSquareDeviations(c, kDraws)), kMostDeviations);
}

TEST(SamplerDistribution, TopKTopPAndMinP) {
  Case c = DistributionCase();
  c.options.top_k = 20;
  c.options.top_p = 0.9F;
  c.options.min_p = 0.02F;
  EXPECT_LT(std::fabs(ChiSquareDeviations(c, kDraws)), kMostDeviations);
}

TEST(SamplerDistribution, PenaltiesAndBias) {
  Case c = DistributionCase();
  c.options.repetition_penalty = 1.3F;
  c.options.frequency_penalty = 0.4F;
  c.options.presence_penalty = 0.3F;
  c.options.logit_bias = {{7, 2}, {8, -3}};
  c.options.banned_token_ids = {9};
  EXPECT_LT(std::fabs(ChiSquareDeviations(c, kDraws)), kMostDeviations);
}

// The test can fail: draws at another temperature are not these probabilities.
TEST(SamplerDistribution, AnotherTemperatureIsNoticed) {
  Case c = DistributionCase();
  const std::vector<float> logits = c.logits;
  for (float& l : c.logits) l *= 1.03F;
  const std::vector<double> probabilities = reference::Probabilities(c.ReferenceInput(), c.options);
  c.logits = logits;
  double statistic = 0;
  std::vector<int64_t> counts(c.logits.size());
  SamplerScratch scratch(static_cast<int64_t>(c.logits.size()));
  for (int64_t i = 0; i < kDraws; ++i) {
    ++c.options.seed;
    ++counts[c.MakeSampler().Choose(c.logits, c.bans(), scratch, nullptr)];
  }
  for (size_t id = 0; id < counts.size(); ++id) {
    const double expected = probabilities[id] * kDraws;
    if (expected < 5) continue;
    statistic += std::pow(static_cast<double>(counts[id]) - expected, 2) / expected;
  }
  EXPECT_GT(statistic, 130);  // 57 +- 11 for the right probabilities
}

// Successive positions of one sequence are as good as other seeds.
TEST(SamplerDistribution, PositionsOfOneSequence) {
  const Case c = DistributionCase();
  const std::vector<double> probabilities = reference::Probabilities(c.ReferenceInput(), c.options);
  std::vector<int64_t> counts(c.logits.size());
  SamplerScratch scratch(static_cast<int64_t>(c.logits.size()));
  Sampler sampler = c.MakeSampler();
  double statistic = 0;
  for (int64_t i = 0; i < kDraws; ++i) {
    const int32_t token = sampler.Choose(c.logits, {}, scratch, nullptr);
    ++counts[token];
    sampler.Push(token);
  }
  int cells = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    const double expected = probabilities[id] * kDraws;
    if (expected < 5) continue;
    statistic += std::pow(static_cast<double>(counts[id]) - expected, 2) / expected;
    ++cells;
  }
  EXPECT_LT(statistic, cells + 5 * std::sqrt(2.0 * cells));
}

TEST(Noise, StaysBelowItsBoundAndIsANumber) {
  float largest = -kInf;
  float smallest = kInf;
  for (const uint32_t word : {0U, 1U, 2U, 0x7fffffffU, 0x80000000U, 0xfffffffeU, 0xffffffffU}) {
    largest = std::max(largest, NoiseOfWord(word));
    smallest = std::min(smallest, NoiseOfWord(word));
  }
  EXPECT_EQ(largest, NoiseOfWord(0));  // u = 2^-32
  EXPECT_NEAR(largest, 32 * std::log(2.0), 1e-5);
  EXPECT_LT(largest, kNoiseBound);
  EXPECT_NEAR(smallest, -std::log(24 * std::log(2.0)), 1e-5);
}

TEST(Sampler, TiesGoToTheLowestIdOnEveryPath) {
  Case c;
  c.logits = {1, 5, 5, 5, -0.0F, 0.0F};
  c.num_choosable = 6;
  EXPECT_EQ(c.Choose(), 1);
  c.options.temperature = 1;
  c.options.top_k = 1;  // noise can't reorder one candidate
  for (c.options.seed = 0; c.options.seed < 50; ++c.options.seed) EXPECT_EQ(c.Choose(), 1);
  c.options.top_k = 0;
  c.options.top_p = 0;
  EXPECT_EQ(c.Choose(), 1);
  c.options.banned_token_ids = {0, 1, 2, 3};
  EXPECT_EQ(c.Choose(), 4);  // -0 equals +0
}

TEST(Sampler, NothingLeftAndInfinityAreSaid) {
  Case c;
  c.logits = {1, 2, 3};
  c.num_choosable = 3;
  c.options.banned_token_ids = {0, 1, 2};
  EXPECT_EQ(c.Choose(), Sampler::kAllBanned);
  c.options.banned_token_ids = {};
  c.logits[1] = kInf;
  c.options.logprobs = 3;
  EXPECT_EQ(c.Choose(), Sampler::kInfinite);
  c.options.banned_token_ids = {1};
  EXPECT_EQ(c.Choose(), 2);
}

TEST(Sampler, MinTokensBansTheEndUpToThere) {
  Case c;
  c.logits = {1, 9, 3};
  c.num_choosable = 3;
  c.eos_ids = {1};
  c.options.min_tokens = 2;
  EXPECT_EQ(c.Choose(), 2);
  c.output = {2, 2};
  EXPECT_EQ(c.Choose(), 1);
}

TEST(Sampler, GreedyWithoutOptionsNeedsNone) {
  EXPECT_FALSE(Sampler::IsNeeded({}));
  // Filters and seeds do nothing at temperature 0.
  EXPECT_FALSE(Sampler::IsNeeded({.top_k = 5, .top_p = 0.5F, .min_p = 0.1F, .seed = 3}));
  EXPECT_TRUE(Sampler::IsNeeded({.temperature = 0.1F}));
  EXPECT_TRUE(Sampler::IsNeeded({.logprobs = 0}));
}

}  // namespace
}  // namespace verbatim::numerics
