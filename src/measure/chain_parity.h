// RunChainParity: a model's chain of single tokens against the same tokens as blocks, with drafts
// accepted, rejected, or some of each; and where the first difference comes from. Not the probe at
// load (engine/probe.h), which has no time for all of it.
#ifndef VERBATIM_MEASURE_CHAIN_PARITY_H_
#define VERBATIM_MEASURE_CHAIN_PARITY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/block_walk.h"
#include "ops/kv_layout.h"
#include "verbatim/contract.h"

namespace verbatim {

enum class DraftFate : uint8_t {
  kAccepted,  // every draft of every round
  kMixed,     // as many as a seed says, the rest wrong tokens
  kRejected,  // every draft of every round, wrong tokens
};
std::string_view DraftFateName(DraftFate fate);  // "accepted", "mixed", "rejected"

struct ChainParityOptions {
  std::string model;             // folder or id
  std::string prompt = {};       // text; empty: a sentence of this project
  int num_tokens = 96;           // of the chain, behind the prompt, chosen greedily
  std::vector<int> widths = {};  // of blocks, 1 to kMaxDraftTokens + 1; empty: all
  int num_seeds = 2;             // mixed patterns for each width
  ContractMode contract = ContractMode::kExact;
  int num_threads = 1;
  std::string target = {};  // as in EngineOptions
  ops::KvType kv_type = ops::KvType::kBF16;
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
  std::function<bool()> stop = {};  // may be empty; true ends the work with kCancelled
};

struct TopTwo {
  int32_t token = 0;  // of the largest logit, the lowest id of equal ones
  float gap = 0;      // to the second largest
};

struct ChainDivergence {
  int64_t position = 0;  // of the chain: 0 is the first token behind the prompt
  int round = 0;         // block of the case, from 0
  int row = 0;           // of the block
  TopTwo chain;
  TopTwo block;
  int64_t logit_bytes = 0;   // that differ, of 4 * V
  float largest = 0;         // difference of two logits
  int64_t hidden_bytes = 0;  // that differ, of 4 * H
  int64_t state_bytes = 0;   // of the recurrent states behind the round, if they were compared
  std::optional<OpDifference> op;  // the first whose output differs; none: the state alone
};

struct ChainCase {
  int width = 1;
  DraftFate fate = DraftFate::kAccepted;
  int seed = 0;  // of kMixed
  int64_t rounds = 0;
  int64_t rows_compared = 0;  // rows of blocks whose token is the chain's
  int64_t states_compared = 0;
  std::optional<ChainDivergence> divergence = {};  // the first; the case ends there
};

struct ChainParityReport {
  std::string model_folder;
  std::string backend;
  std::string target;
  ContractMode contract = ContractMode::kExact;
  int num_threads = 0;
  int prompt_tokens = 0;
  int num_tokens = 0;
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  std::vector<ChainCase> cases;

  bool Holds() const;
};

// Errors: those of loading, kInvalidArgument for options out of range, kCancelled.
Expected<ChainParityReport> RunChainParity(const ChainParityOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_CHAIN_PARITY_H_
