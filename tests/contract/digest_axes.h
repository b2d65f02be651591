// The axes of the contract as a list of arms, each of which must give one digest. Not the models or
// prompts.
#ifndef VERBATIM_TESTS_CONTRACT_DIGEST_AXES_H_
#define VERBATIM_TESTS_CONTRACT_DIGEST_AXES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verbatim/request.h"

namespace verbatim::testing {

// How an arm chooses its tokens, other than greedily.
struct Sampling {
  std::string name;
  SamplingOptions options;
};

std::vector<Sampling> AllSamplings(int64_t vocab_size);

// How an arm drafts. The replayed lists are made from the classic output, which the test has by
// then.
enum class DraftPattern { kNone, kAllRight, kAllWrong, kRandom };

struct Speculation {
  std::string name;
  SpeculationKind kind = SpeculationKind::kOff;
  int draft_tokens = 3;
  bool automatic = false;
  DraftPattern replay = DraftPattern::kNone;
};

// One engine, which several speculations share.
struct EngineAxes {
  std::string target;
  int num_threads = 1;
  int64_t prefill_chunk = 256;  // 0: whole

  std::string Name() const;
};

std::vector<Speculation> AllSpeculations();
std::vector<EngineAxes> AllEngineAxes();  // targets of this machine x threads x chunks

// For a replay arm: the drafts for each output position.
std::vector<int32_t> ReplayList(DraftPattern pattern, const std::vector<int32_t>& output,
                                int64_t vocab_size, uint32_t seed);

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_CONTRACT_DIGEST_AXES_H_
