// The enumeration itself.
#include "tests/contract/digest_axes.h"

#include <random>

#include "backend/cpu/cpu_backend.h"

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
