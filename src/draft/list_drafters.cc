// Drafts from lists of tokens.
#include "draft/list_drafters.h"

#include <algorithm>

namespace verbatim {
namespace {

// The position after the most recent earlier occurrence of the last `length` tokens; -1 if there is
// none.
int64_t FindContinuation(std::span<const int32_t> tokens, int length) {
  const int64_t size = static_cast<int64_t>(tokens.size());
  for (int64_t end = size - 1; end >= length; --end) {
    if (std::equal(tokens.end() - length, tokens.end(), tokens.begin() + end - length)) return end;
  }
  return -1;
}

}  // namespace

void NgramDrafter::Propose(std::span<DraftJob> jobs, const float* /*target_hidden*/) {
  for (DraftJob& job : jobs) {
    job.num_drafts = 0;
    if (job.max_drafts == 0) continue;
    for (int length = kLongestMatch; length >= 1; --length) {
      const int64_t next = FindContinuation(job.tokens, length);
      if (next < 0) continue;
      const auto continuation = job.tokens.subspan(next);
      job.num_drafts = static_cast<int>(std::min<size_t>(continuation.size(), job.max_drafts));
      std::copy_n(continuation.begin(), job.num_drafts, job.drafts);
      break;
    }
  }
}

void ReplayDrafter::Propose(std::span<DraftJob> jobs, const float* /*target_hidden*/) {
  for (DraftJob& job : jobs) {
    const size_t produced = job.tokens.size() - job.prompt_size;
    const auto rest = job.replay.subspan(std::min(produced, job.replay.size()));
    job.num_drafts = static_cast<int>(std::min<size_t>(rest.size(), job.max_drafts));
    std::copy_n(rest.begin(), job.num_drafts, job.drafts);
  }
}

void WrongDrafter::Propose(std::span<DraftJob> jobs, const float* /*target_hidden*/) {
  for (DraftJob& job : jobs) {
    job.num_drafts = job.max_drafts;
    std::fill_n(job.drafts, job.num_drafts, kImpossibleToken);
  }
}

}  // namespace verbatim
