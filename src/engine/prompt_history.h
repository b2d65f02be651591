// PromptHistory: recent prompts, to see where a new one parts from them. Not their states
// (state/prefix_cache.h).
#ifndef VERBATIM_ENGINE_PROMPT_HISTORY_H_
#define VERBATIM_ENGINE_PROMPT_HISTORY_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace verbatim {

class PromptHistory {
 public:
  // How many tokens at its start a prompt shares with the one of these that shares most. A state
  // there would have served both.
  int64_t LongestShared(std::span<const int32_t> prompt) const {
    int64_t longest = 0;
    for (const std::vector<int32_t>& known : prompts_) {
      longest =
          std::max<int64_t>(longest, std::ranges::mismatch(known, prompt).in1 - known.begin());
    }
    return longest;
  }

  void Add(std::span<const int32_t> prompt) {
    if (prompts_.size() < kMostPrompts) prompts_.emplace_back();
    prompts_[next_].assign(prompt.begin(), prompt.end());
    next_ = (next_ + 1) % kMostPrompts;
  }

 private:
  // Enough for the prompts of some dozens of users; comparing with all of them takes microseconds,
  // since most part from a new one at once.
  static constexpr size_t kMostPrompts = 64;
  std::vector<std::vector<int32_t>> prompts_;
  size_t next_ = 0;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_PROMPT_HISTORY_H_
