// PrefixCache: states behind prefixes of earlier prompts and answers, for sequences that begin with
// the same tokens. Not when a state is worth keeping (engine/). Thread rule: one caller at a time.
//
// A state has KV pages, which sequences and entries share, and the recurrent state, which can't be
// rewound and is therefore copied at chosen places. An entry that ends within a page has a copy of
// that page, since the sequence goes on writing into its own. A hit gives the bits of a cold run:
// everything in it was computed by one.
#ifndef VERBATIM_STATE_PREFIX_CACHE_H_
#define VERBATIM_STATE_PREFIX_CACHE_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "state/kv_cache.h"
#include "state/recurrent_cache.h"
#include "state/sequence_state.h"

namespace verbatim {

struct PrefixCacheStats {
  int64_t queried_tokens = 0;  // of prompts that asked, without each one's last
  int64_t hit_tokens = 0;      // of those, not computed again
  int64_t evictions = 0;
  int64_t entries = 0;
  int64_t bytes = 0;  // of recurrent states and of pages that entries hold
};

class PrefixCache {
 public:
  struct Entry {
    std::vector<int32_t> tokens;  // [P]
    std::vector<int32_t> pages;   // of slots [0, P); a last one that is not full is the entry's own
    int recurrent_slot = -1;
    int hidden_row = 0;          // of hidden_, the target's hidden row of token P - 1
    int64_t num_draft_rows = 0;  // of the draft head: P - 1, or 0 if it did not run
    uint64_t hash = 0;
  };

  struct Limits {
    int64_t max_bytes = 0;
    int max_entries = 0;      // recurrent slots that sequences leave free
    int64_t hidden_size = 0;  // 0: no draft head
  };

  // Bytes of one state without its pages.
  static int64_t StateBytes(const RecurrentCache& recurrent, int64_t hidden_size);

  // Errors: kResourceExhausted.
  static Expected<std::unique_ptr<PrefixCache>> Create(ops::Backend& backend, KvCache& kv,
                                                       RecurrentCache& recurrent,
                                                       const Limits& limits);
  ~PrefixCache();

  // The longest entry that a prompt goes on from: its tokens and at least one more; with all rows
  // of the draft head if those are needed. Null: none. Good until the next Insert or Evict.
  const Entry* Find(std::span<const int32_t> prompt, bool needs_draft_rows);
  // Counts a prompt that asked, and how many of its tokens an entry then gave.
  void CountQuery(int64_t prompt_tokens, int64_t hit_tokens);

  // Gives a sequence without pages, whose recurrent slot is acquired, the state of an entry: pages,
  // recurrent state, num_consumed, num_draft_rows. kResourceExhausted: no page for the copy of the
  // last one; the sequence is as before.
  Status Restore(const Entry& entry, SequenceState& state);
  const float* Hidden(const Entry& entry) const;  // [H], device memory

  // Keeps the state of a sequence that has consumed exactly `tokens`, without drafts pending.
  // `hidden` [H] (device memory) is the target's row of the last token; `num_draft_rows`: rows of
  // the draft head that count, tokens.size() - 1 or 0. Evicts what is longest unused. False: no
  // room, or it would be alone beyond the limit.
  bool Insert(std::span<const int32_t> tokens, const SequenceState& state, const float* hidden,
              int64_t num_draft_rows);

  // Pages that would be free without any entry but `except`.
  int64_t FreeablePages(const Entry* except) const;

  // Drops the entry that is longest unused, but not `except`. False: there is none.
  bool EvictOldest(const Entry* except);
  void Clear();

  PrefixCacheStats stats() const;

 private:
  using Entries = std::list<Entry>;  // the longest unused first

  PrefixCache(ops::Backend& backend, KvCache& kv, RecurrentCache& recurrent, const Limits& limits)
      : backend_(backend), kv_(kv), recurrent_(recurrent), limits_(limits) {}
  Entries::iterator FindEqual(std::span<const int32_t> tokens, uint64_t hash);
  bool FillEntry(std::span<const int32_t> tokens, const SequenceState& state, const float* hidden,
                 Entry& entry);
  void CountPages(const Entry& entry, int change);
  void Erase(Entries::iterator entry);
  int64_t bytes() const;

  ops::Backend& backend_;
  KvCache& kv_;
  RecurrentCache& recurrent_;
  Limits limits_;
  Entries entries_;
  std::unordered_multimap<uint64_t, Entries::iterator> by_hash_;
  std::map<int64_t, int> lengths_;                // entries by number of tokens
  std::unordered_map<int32_t, int> page_owners_;  // entries by page
  std::unique_ptr<ops::DeviceBuffer> hidden_;     // [max_entries, H] f32
  std::vector<int> free_hidden_rows_;
  PrefixCacheStats stats_;
};

}  // namespace verbatim

#endif  // VERBATIM_STATE_PREFIX_CACHE_H_
