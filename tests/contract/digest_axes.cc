// The enumeration itself.
#include "tests/contract/digest_axes.h"

#include <random>

#include "backend/cpu/cpu_backend.h"
#include "tests/support/sample_size.h"

namespace verbatim::testing {

std::string EngineAxes::Name() const {
  return target + " threads " + std::to_string(num_threads) + " chunk " +
         (prefill_chunk == 0 ? "whole" : std::to_string(prefill_chunk));
}

std::vector<Speculation> AllSpeculations() {
  std::vector<Speculation> all = {{.name = "off"}};
  for (const int drafts : {1, 2, 3, 4, 5, 7, 8, 11, 15}) {
    all.push_back({.name = "mtp " + std::to_string(drafts),
                   .kind = SpeculationKind::kMtp,
                   .draft_tokens = drafts});
  }
  all.push_back({.name = "mtp auto",
                 .kind = SpeculationKind::kMtp,
                 .draft_tokens = kMaxDraftTokens,
                 .automatic = true});
  all.push_back({.name = "ngram", .kind = SpeculationKind::kNgram, .draft_tokens = 5});
  all.push_back({.name = "wrong", .kind = SpeculationKind::kWrong, .draft_tokens = 4});
  for (const auto& [name, pattern, drafts] :
       {std::tuple{"replay all right", DraftPattern::kAllRight, 7},
        std::tuple{"replay all wrong", DraftPattern::kAllWrong, 6},
        std::tuple{"replay random 3", DraftPattern::kRandom, 3},
        std::tuple{"replay random 15", DraftPattern::kRandom, 15}}) {
    all.push_back({.name = name,
                   .kind = SpeculationKind::kReplay,
                   .draft_tokens = drafts,
                   .replay = pattern});
  }
  return all;
}

std::vector<Sampling> AllSamplings(int64_t vocab_size) {
  std::vector<LogitBias> bias;
  std::vector<int32_t> banned;
  for (int32_t id = 0; id < vocab_size; id += 7) bias.push_back({id, 1.5F - 0.25F * (id % 13)});
  for (int32_t id = 3; id < vocab_size; id += 11) banned.push_back(id);
  return {
      {"temperature 0.8, top-p 0.95", {.temperature = 0.8F, .top_p = 0.95F, .seed = 42}},
      {"temperature 1, top-k 20, min-p 0.05, another choice",
       {.temperature = 1, .top_k = 20, .min_p = 0.05F, .seed = uint64_t{1} << 40, .choice = 3}},
      {"temperature 0.8 alone, logprobs", {.temperature = 0.8F, .seed = 1, .logprobs = 5}},
      {"penalties, greedy, logprobs",
       {.repetition_penalty = 1.2F,
        .frequency_penalty = 0.3F,
        .presence_penalty = -0.2F,
        .logprobs = 0}},
      {"penalties at temperature 0.7",
       {.repetition_penalty = 1.1F,
        .frequency_penalty = 0.2F,
        .presence_penalty = 0.4F,
        .temperature = 0.7F,
        .top_p = 0.9F,
        .seed = 5}},
      {"bias, bans and min tokens",
       {.logit_bias = bias,
        .banned_token_ids = banned,
        .banned_strings = {"the", " and a"},
        .min_tokens = Sampled(40, 12),
        .temperature = 0.6F,
        .seed = 9,
        .logprobs = 2}},
  };
}

std::vector<EngineAxes> AllEngineAxes() {
  std::vector<EngineAxes> all;
  for (const std::string& target : cpu::AvailableTargets()) {
    for (const int threads : {1, 2}) {
      for (const int64_t chunk : {1, 7, 64, 256, 0}) all.push_back({target, threads, chunk});
    }
  }
  return all;
}

std::vector<int32_t> ReplayList(DraftPattern pattern, const std::vector<int32_t>& output,
                                int64_t vocab_size, uint32_t seed) {
  std::vector<int32_t> list = output;
  std::minstd_rand random(seed);
  for (int32_t& token : list) {
    const bool wrong = pattern == DraftPattern::kAllWrong ||
                       (pattern == DraftPattern::kRandom && random() % 3 == 0);
    if (wrong) token = static_cast<int32_t>((token + 1 + random() % (vocab_size - 1)) % vocab_size);
  }
  return list;
}

}  // namespace verbatim::testing
