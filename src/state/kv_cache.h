// KvCache: the pages of every attention layer and who owns them. Not their inner layout
// (ops/kv_layout.h). Thread rule: one caller at a time.
#ifndef VERBATIM_STATE_KV_CACHE_H_
#define VERBATIM_STATE_KV_CACHE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "ops/backend.h"

namespace verbatim {

// A page id names 256 slots in every layer at once, so that a sequence has one page table.
class KvCache {
 public:
  // `num_layers` attention layers of one layout, `num_pages` pages each. Errors:
  // kResourceExhausted.
  static Expected<std::unique_ptr<KvCache>> Create(ops::Backend& backend, int num_layers,
                                                   const ops::KvLayout& layout, int num_pages);

  // Extends a page table until it covers `num_slots` slots; all or nothing.
  // kResourceExhausted: not enough free pages.
  Status Grow(int64_t num_slots, std::vector<int32_t>& pages);
  // Returns the pages that lie wholly beyond `num_slots` slots.
  void Shrink(int64_t num_slots, std::vector<int32_t>& pages);
  void Release(std::vector<int32_t>& pages);  // returns all pages and empties the table

  ops::KvCacheView View(int layer) const;
  int num_free_pages() const { return static_cast<int>(free_pages_.size()); }
  int64_t bytes() const;

 private:
  KvCache() = default;

  ops::KvLayout layout_;
  std::vector<std::unique_ptr<ops::DeviceBuffer>> layers_;
  std::vector<int32_t> free_pages_;  // lowest id last
};

}  // namespace verbatim

#endif  // VERBATIM_STATE_KV_CACHE_H_
