// Page ownership as a free list.
#include "state/kv_cache.h"

#include <fmt/format.h>

namespace verbatim {

Expected<std::unique_ptr<KvCache>> KvCache::Create(ops::Backend& backend, int num_layers,
                                                   const ops::KvLayout& layout, int num_pages) {
  std::unique_ptr<KvCache> cache(new KvCache);
  cache->layout_ = layout;
  for (int layer = 0; layer < num_layers; ++layer) {
    VERBATIM_ASSIGN_OR_RETURN(auto buffer, backend.Allocate(layout.page_bytes() * num_pages));
    cache->layers_.push_back(std::move(buffer));
  }
  cache->free_pages_.reserve(num_pages);
  for (int32_t page = num_pages; page-- > 0;) cache->free_pages_.push_back(page);
  return cache;
}

Status KvCache::Grow(int64_t num_slots, std::vector<int32_t>& pages) {
  const size_t needed = static_cast<size_t>((num_slots + ops::kPageSlots - 1) / ops::kPageSlots);
  if (needed <= pages.size()) return {};
  const size_t missing = needed - pages.size();
  if (missing > free_pages_.size()) {
    return MakeError(StatusCode::kResourceExhausted, "KV cache",
                     fmt::format("{} free pages of {} slots", missing, ops::kPageSlots),
                     fmt::format("{}", free_pages_.size()),
                     "a larger --context or fewer sequences");
  }
  for (size_t i = 0; i < missing; ++i) {
    pages.push_back(free_pages_.back());
    free_pages_.pop_back();
  }
  return {};
}

void KvCache::Shrink(int64_t num_slots, std::vector<int32_t>& pages) {
  const size_t needed = static_cast<size_t>((num_slots + ops::kPageSlots - 1) / ops::kPageSlots);
  for (; pages.size() > needed; pages.pop_back()) free_pages_.push_back(pages.back());
}

void KvCache::Release(std::vector<int32_t>& pages) {
  free_pages_.insert(free_pages_.end(), pages.rbegin(), pages.rend());
  pages.clear();
}

ops::KvCacheView KvCache::View(int layer) const {
  return {.layout = layout_, .pages = layers_[layer]->As<std::byte>()};
}

int64_t KvCache::bytes() const {
  int64_t sum = 0;
  for (const auto& layer : layers_) sum += static_cast<int64_t>(layer->bytes());
  return sum;
}

}  // namespace verbatim
