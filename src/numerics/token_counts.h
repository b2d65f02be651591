// TokenCounts: which ids a sequence has in its prompt and how often in its output, for the
// penalties. Not the penalties.
#ifndef VERBATIM_NUMERICS_TOKEN_COUNTS_H_
#define VERBATIM_NUMERICS_TOKEN_COUNTS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace verbatim::numerics {

class TokenCounts {
 public:
  // Room for `max_pushed` ids, so that Push allocates nothing.
  TokenCounts(int64_t vocab_size, std::span<const int32_t> prompt, int64_t max_pushed)
      : entries_(vocab_size) {
    seen_.reserve(prompt.size() + max_pushed);
    for (const int32_t id : prompt) {
      if (!entries_[id].in_prompt) seen_.push_back(id);
      entries_[id].in_prompt = true;
    }
  }

  // An output token; Pop takes back the last one pushed.
  void Push(int32_t id) {
    Entry& entry = entries_[id];
    if (!entry.in_prompt && entry.count == 0) seen_.push_back(id);
    ++entry.count;
  }
  void Pop(int32_t id) {
    Entry& entry = entries_[id];
    --entry.count;
    if (!entry.in_prompt && entry.count == 0) seen_.pop_back();
  }

  std::span<const int32_t> seen() const { return seen_; }  // each id of prompt or output once
  int32_t output_count(int32_t id) const { return entries_[id].count; }

 private:
  struct Entry {
    uint32_t in_prompt : 1 = 0;
    int32_t count : 31 = 0;
  };
  std::vector<Entry> entries_;  // [V]
  std::vector<int32_t> seen_;   // what was pushed last stands last
};

}  // namespace verbatim::numerics

#endif  // VERBATIM_NUMERICS_TOKEN_COUNTS_H_
