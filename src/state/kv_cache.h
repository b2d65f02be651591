// KvCache: the pages of every attention layer and who owns them. Not their inner layout
// (ops/kv_layout.h). Thread rule: one caller at a time.
#ifndef VERBATIM_STATE_KV_CACHE_H_
#define VERBATIM_STATE_KV_CACHE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/backend.h"

namespace verbatim {

// A page id names 256 slots in every layer at once, so that a sequence has one page table. Pages
// may be shared by several tables; who shares one only reads it.
class KvCache {
 public:
  // `num_layers` attention layers of one layout, `num_pages` pages each. Errors:
  // kResourceExhausted.
  static Expected<std::unique_ptr<KvCache>> Create(ops::Backend& backend, int num_layers,
                                                   const ops::KvLayout& layout, int num_pages);

  // Pages that so many slots take.
  static int64_t PagesOf(int64_t num_slots) {
    return (num_slots + ops::kPageSlots - 1) / ops::kPageSlots;
  }

  // Extends a page table until it covers `num_slots` slots; all or nothing.
  // kResourceExhausted: not enough free pages.
  Status Grow(int64_t num_slots, std::vector<int32_t>& pages);
  // Appends pages of another table to one, which then holds them too.
  void Share(std::span<const int32_t> from, std::vector<int32_t>& pages);
  // Copies one page in every layer.
  void Copy(int32_t from, int32_t to);
  // Gives back the pages that lie wholly beyond `num_slots` slots.
  void Shrink(int64_t num_slots, std::vector<int32_t>& pages);
  void Release(std::vector<int32_t>& pages);  // gives all pages back and empties the table

  ops::KvCacheView View(int layer) const;
  int num_pages() const { return static_cast<int>(owners_.size()); }
  int num_owners(int32_t page) const { return owners_[page]; }  // tables that hold it
  int num_free_pages() const { return static_cast<int>(free_pages_.size()); }
  int64_t page_bytes() const;  // of one page in every layer
  int64_t bytes() const;

 private:
  explicit KvCache(ops::Backend& backend) : backend_(backend) {}
  void Drop(int32_t page);

  ops::Backend& backend_;
  ops::KvLayout layout_;
  std::vector<std::unique_ptr<ops::DeviceBuffer>> layers_;
  std::vector<int32_t> free_pages_;  // lowest id last
  std::vector<int32_t> owners_;      // [num_pages], tables that hold the page
};

}  // namespace verbatim

#endif  // VERBATIM_STATE_KV_CACHE_H_
