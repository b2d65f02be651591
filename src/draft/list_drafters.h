// The drafters that need no model: n-gram prompt lookup, and the replay and wrong drafters of
// tests.
#ifndef VERBATIM_DRAFT_LIST_DRAFTERS_H_
#define VERBATIM_DRAFT_LIST_DRAFTERS_H_

#include "draft/drafter.h"

namespace verbatim {

// Proposes what followed the most recent earlier occurrence of the last tokens, longest match
// first.
class NgramDrafter : public Drafter {
 public:
  // 4 tokens rarely recur by chance; a single one still pays because a rejected row costs little.
  static constexpr int kLongestMatch = 4;
  void Propose(std::span<DraftJob> jobs, const float* target_hidden) override;
};

// Proposes DraftJob::replay[i] for output position i, so that a test can force any pattern of
// acceptance.
class ReplayDrafter : public Drafter {
 public:
  void Propose(std::span<DraftJob> jobs, const float* target_hidden) override;
};

// Proposes drafts that are never right.
class WrongDrafter : public Drafter {
 public:
  void Propose(std::span<DraftJob> jobs, const float* target_hidden) override;
};

}  // namespace verbatim

#endif  // VERBATIM_DRAFT_LIST_DRAFTERS_H_
