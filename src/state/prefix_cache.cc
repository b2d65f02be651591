// Entries by a hash of their tokens, and by time of use.
#include "state/prefix_cache.h"

#include <algorithm>
#include <iterator>

#include "ops/kv_layout.h"

namespace verbatim {
namespace {

// The hash of tokens[0, n + 1) from that of tokens[0, n); splitmix64's finaliser. Tokens are
// compared too, so that a collision costs time only.
uint64_t Extend(uint64_t hash, int32_t token) {
  uint64_t x = hash + 0x9E3779B97F4A7C15 + static_cast<uint32_t>(token);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

uint64_t Hash(std::span<const int32_t> tokens) {
  uint64_t hash = 0;
  for (const int32_t token : tokens) hash = Extend(hash, token);
  return hash;
}

}  // namespace

int64_t PrefixCache::StateBytes(const RecurrentCache& recurrent, int64_t hidden_size) {
  return recurrent.slot_bytes() + hidden_size * static_cast<int64_t>(sizeof(float));
}

Expected<std::unique_ptr<PrefixCache>> PrefixCache::Create(ops::Backend& backend, KvCache& kv,
                                                           RecurrentCache& recurrent,
                                                           const Limits& limits) {
  std::unique_ptr<PrefixCache> cache(new PrefixCache(backend, kv, recurrent, limits));
  VERBATIM_ASSIGN_OR_RETURN(
      cache->hidden_, backend.Allocate(limits.max_entries * limits.hidden_size * sizeof(float)));
  cache->free_hidden_rows_.reserve(limits.max_entries);
  for (int row = limits.max_entries; row-- > 0;) cache->free_hidden_rows_.push_back(row);
  return cache;
}

PrefixCache::~PrefixCache() { Clear(); }

PrefixCache::Entries::iterator PrefixCache::FindEqual(std::span<const int32_t> tokens,
                                                      uint64_t hash) {
  const auto [first, last] = by_hash_.equal_range(hash);
  const auto found = std::find_if(first, last, [&](const auto& candidate) {
    return std::ranges::equal(candidate.second->tokens, tokens);
  });
  return found == last ? entries_.end() : found->second;
}

const PrefixCache::Entry* PrefixCache::Find(std::span<const int32_t> prompt,
                                            bool needs_draft_rows) {
  auto best = entries_.end();
  uint64_t hash = 0;
  int64_t hashed = 0;
  for (const auto& [length, count] : lengths_) {
    if (length >= static_cast<int64_t>(prompt.size())) break;
    for (; hashed < length; ++hashed) hash = Extend(hash, prompt[hashed]);
    const auto entry = FindEqual(prompt.first(length), hash);
    if (entry == entries_.end()) continue;
    if (needs_draft_rows && entry->num_draft_rows < length - 1) continue;
    best = entry;
  }
  if (best == entries_.end()) return nullptr;
  entries_.splice(entries_.end(), entries_, best);
  return &*best;
}

void PrefixCache::CountQuery(int64_t prompt_tokens, int64_t hit_tokens) {
  stats_.queried_tokens += prompt_tokens - 1;
  stats_.hit_tokens += hit_tokens;
}

Status PrefixCache::Restore(const Entry& entry, SequenceState& state) {
  const auto num_tokens = static_cast<int64_t>(entry.tokens.size());
  const size_t full_pages = num_tokens / ops::kPageSlots;
  kv_.Share(std::span(entry.pages).first(full_pages), state.pages);
  if (full_pages < entry.pages.size()) {
    if (Status status = kv_.Grow(num_tokens, state.pages); !status.ok()) {
      kv_.Release(state.pages);
      return status;
    }
    kv_.Copy(entry.pages.back(), state.pages.back());
  }
  recurrent_.Copy(entry.recurrent_slot, state.recurrent_slot);
  state.num_consumed = num_tokens;
  state.num_accepted_drafts = 0;
  state.num_draft_rows = entry.num_draft_rows;
  return {};
}

const float* PrefixCache::Hidden(const Entry& entry) const {
  return hidden_->As<float>() + entry.hidden_row * limits_.hidden_size;
}

bool PrefixCache::Insert(std::span<const int32_t> tokens, const SequenceState& state,
                         const float* hidden, int64_t num_draft_rows) {
  if (limits_.max_entries == 0 || tokens.empty()) return false;
  const uint64_t hash = Hash(tokens);
  if (const auto known = FindEqual(tokens, hash); known != entries_.end()) {
    if (known->num_draft_rows >= num_draft_rows) {
      entries_.splice(entries_.end(), entries_, known);
      return true;
    }
    Erase(known);
  }
  // Beyond the limit alone: nothing else is dropped for it.
  const auto num_tokens = static_cast<int64_t>(tokens.size());
  if (StateBytes(recurrent_, limits_.hidden_size) +
          KvCache::PagesOf(num_tokens) * kv_.page_bytes() >
      limits_.max_bytes) {
    return false;
  }
  while (free_hidden_rows_.empty() && EvictOldest(nullptr)) {
  }
  Entry entry;
  entry.hash = hash;
  entry.num_draft_rows = num_draft_rows;
  if (!FillEntry(tokens, state, hidden, entry)) return false;
  CountPages(entry, 1);
  ++lengths_[static_cast<int64_t>(tokens.size())];
  entries_.push_back(std::move(entry));
  by_hash_.emplace(hash, std::prev(entries_.end()));
  const Entry* const inserted = &entries_.back();
  while (bytes() > limits_.max_bytes && EvictOldest(inserted)) {
  }
  if (bytes() <= limits_.max_bytes) return true;
  Erase(std::prev(entries_.end()));
  return false;
}

bool PrefixCache::FillEntry(std::span<const int32_t> tokens, const SequenceState& state,
                            const float* hidden, Entry& entry) {
  const auto num_tokens = static_cast<int64_t>(tokens.size());
  const size_t full_pages = num_tokens / ops::kPageSlots;
  kv_.Share(std::span(state.pages).first(full_pages), entry.pages);
  if (num_tokens % ops::kPageSlots != 0) {
    Status status = kv_.Grow(num_tokens, entry.pages);
    while (!status.ok() && EvictOldest(nullptr)) status = kv_.Grow(num_tokens, entry.pages);
    if (!status.ok()) {
      kv_.Release(entry.pages);
      return false;
    }
    kv_.Copy(state.pages[full_pages], entry.pages.back());
  }
  const auto slot = recurrent_.Acquire();
  if (!slot.ok()) {
    kv_.Release(entry.pages);
    return false;
  }
  entry.recurrent_slot = *slot;
  entry.hidden_row = free_hidden_rows_.back();
  free_hidden_rows_.pop_back();
  entry.tokens.assign(tokens.begin(), tokens.end());
  recurrent_.Copy(state.recurrent_slot, entry.recurrent_slot);
  if (limits_.hidden_size > 0) {
    const int32_t row = 0;
    backend_.GatherRows({.x = hidden,
                         .x_stride = limits_.hidden_size,
                         .rows = {&row, 1},
                         .width = limits_.hidden_size,
                         .out = hidden_->As<float>() + entry.hidden_row * limits_.hidden_size,
                         .out_stride = limits_.hidden_size});
    backend_.Synchronize();  // `row` is read until then
  }
  return true;
}

void PrefixCache::CountPages(const Entry& entry, int change) {
  for (const int32_t page : entry.pages) {
    const auto it = page_owners_.try_emplace(page, 0).first;
    it->second += change;
    if (it->second == 0) page_owners_.erase(it);
  }
}

bool PrefixCache::EvictOldest(const Entry* except) {
  auto oldest = entries_.begin();
  if (oldest != entries_.end() && &*oldest == except) ++oldest;
  if (oldest == entries_.end()) return false;
  Erase(oldest);
  ++stats_.evictions;
  return true;
}

int64_t PrefixCache::FreeablePages(const Entry* except) const {
  int64_t pages = 0;
  for (const auto& [page, entries] : page_owners_) {
    const bool kept =
        except != nullptr && std::ranges::find(except->pages, page) != except->pages.end();
    if (!kept && kv_.num_owners(page) == entries) ++pages;
  }
  return pages;
}

void PrefixCache::Erase(Entries::iterator entry) {
  const auto [first, last] = by_hash_.equal_range(entry->hash);
  by_hash_.erase(
      std::find_if(first, last, [&](const auto& candidate) { return candidate.second == entry; }));
  const auto length = lengths_.find(static_cast<int64_t>(entry->tokens.size()));
  if (--length->second == 0) lengths_.erase(length);
  CountPages(*entry, -1);
  kv_.Release(entry->pages);
  recurrent_.Release(entry->recurrent_slot);
  free_hidden_rows_.push_back(entry->hidden_row);
  entries_.erase(entry);
}

void PrefixCache::Clear() {
  while (!entries_.empty()) Erase(entries_.begin());
}

int64_t PrefixCache::bytes() const {
  return static_cast<int64_t>(entries_.size()) * StateBytes(recurrent_, limits_.hidden_size) +
         static_cast<int64_t>(page_owners_.size()) * kv_.page_bytes();
}

PrefixCacheStats PrefixCache::stats() const {
  PrefixCacheStats stats = stats_;
  stats.entries = static_cast<int64_t>(entries_.size());
  stats.bytes = bytes();
  return stats;
}

}  // namespace verbatim
