// Page ownership as a free list and a count of owners.
#include "state/kv_cache.h"

#include <fmt/format.h>

namespace verbatim {

Expected<std::unique_ptr<KvCache>> KvCache::Create(ops::Backend& backend, int num_layers,
                                                   const ops::KvLayout& layout, int num_pages) {
  std::unique_ptr<KvCache> cache(new KvCache(backend));
  cache->layout_ = layout;
  for (int layer = 0; layer < num_layers; ++layer) {
    VERBATIM_ASSIGN_OR_RETURN(auto buffer, backend.Allocate(layout.page_bytes() * num_pages));
    cache->layers_.push_back(std::move(buffer));
  }
  cache->free_pages_.reserve(num_pages);
  for (int32_t page = num_pages; page-- > 0;) cache->free_pages_.push_back(page);
  cache->owners_.resize(num_pages);
  return cache;
}

Status KvCache::Grow(int64_t num_slots, std::vector<int32_t>& pages) {
  const size_t needed = static_cast<size_t>(PagesOf(num_slots));
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
    owners_[pages.back()] = 1;
  }
  return {};
}

void KvCache::Share(std::span<const int32_t> from, std::vector<int32_t>& pages) {
  for (const int32_t page : from) ++owners_[page];
  pages.insert(pages.end(), from.begin(), from.end());
}

void KvCache::Copy(int32_t from, int32_t to) {
  // As binary32 words: a copy knows no numbers.
  const auto words = static_cast<int64_t>(layout_.page_bytes() / sizeof(float));
  for (const auto& layer : layers_) {
    backend_.GatherRows({.x = layer->As<float>(),
                         .x_stride = words,
                         .rows = {&from, 1},
                         .width = words,
                         .out = layer->As<float>() + to * words,
                         .out_stride = words});
  }
  backend_.Synchronize();  // `from` is read until then
}

void KvCache::Drop(int32_t page) {
  if (--owners_[page] == 0) free_pages_.push_back(page);
}

void KvCache::Shrink(int64_t num_slots, std::vector<int32_t>& pages) {
  const size_t needed = static_cast<size_t>(PagesOf(num_slots));
  for (; pages.size() > needed; pages.pop_back()) Drop(pages.back());
}

void KvCache::Release(std::vector<int32_t>& pages) { Shrink(0, pages); }

ops::KvCacheView KvCache::View(int layer) const {
  return {.layout = layout_, .pages = layers_[layer]->As<std::byte>()};
}

int64_t KvCache::page_bytes() const {
  return static_cast<int64_t>(layout_.page_bytes() * layers_.size());
}

int64_t KvCache::bytes() const {
  int64_t sum = 0;
  for (const auto& layer : layers_) sum += static_cast<int64_t>(layer->bytes());
  return sum;
}

}  // namespace verbatim
