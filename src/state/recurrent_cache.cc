// State ownership as a free list; reading back for digests and tests.
#include "state/recurrent_cache.h"

#include <fmt/format.h>

#include <algorithm>

namespace verbatim {

Expected<std::unique_ptr<RecurrentCache>> RecurrentCache::Create(ops::Backend& backend,
                                                                 int num_layers,
                                                                 const ops::RecurrentLayout& layout,
                                                                 int num_slots) {
  std::unique_ptr<RecurrentCache> cache(new RecurrentCache(backend));
  cache->layout_ = layout;
  for (int layer = 0; layer < num_layers; ++layer) {
    VERBATIM_ASSIGN_OR_RETURN(auto buffer,
                              backend.Allocate(layout.slot_floats() * num_slots * sizeof(float)));
    cache->layers_.push_back(std::move(buffer));
  }
  cache->free_slots_.reserve(num_slots);
  for (int slot = num_slots; slot-- > 0;) cache->free_slots_.push_back(slot);
  cache->zeros_.resize(layout.slot_floats());
  return cache;
}

Expected<int> RecurrentCache::Acquire() {
  if (free_slots_.empty()) {
    return MakeError(StatusCode::kResourceExhausted, "recurrent state", "a free state slot", "none",
                     "fewer sequences at once");
  }
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  Clear(slot);
  return slot;
}

void RecurrentCache::Clear(int slot) {
  for (const auto& layer : layers_) {
    backend_.CopyFromHost(layer->As<float>() + slot * layout_.slot_floats(), zeros_.data(),
                          zeros_.size() * sizeof(float));
  }
}

void RecurrentCache::Copy(int from, int to) {
  const auto row = static_cast<int32_t>(from);
  const auto stride = static_cast<int64_t>(layout_.slot_floats());
  for (const auto& layer : layers_) {
    backend_.GatherRows({.x = layer->As<float>(),
                         .x_stride = stride,
                         .rows = {&row, 1},
                         .width = static_cast<int64_t>(layout_.key_records_offset()),
                         .out = layer->As<float>() + to * stride,
                         .out_stride = stride});
  }
  backend_.Synchronize();  // `row` is read until then
}

void RecurrentCache::Release(int slot) { free_slots_.push_back(slot); }

void RecurrentCache::Fold(int slot, int num_accepted_drafts) {
  for (int layer = 0; layer < num_layers(); ++layer) {
    backend_.FoldRecords(
        {.state = View(layer), .recurrent_slot = slot, .num_accepted_drafts = num_accepted_drafts});
  }
  backend_.Synchronize();
}

std::vector<float> RecurrentCache::Read(int layer, int slot) const {
  std::vector<float> raw(layout_.slot_floats());
  backend_.CopyToHost(raw.data(), layers_[layer]->As<float>() + slot * layout_.slot_floats(),
                      raw.size() * sizeof(float));
  std::vector<float> logical;
  for (int head = 0; head < layout_.num_value_heads; ++head) {
    for (int k = 0; k < layout_.key_head_dim; ++k) {
      for (int v = 0; v < layout_.value_head_dim; ++v) {
        logical.push_back(raw[layout_.StateOffset(head, k, v)]);
      }
    }
  }
  logical.insert(logical.end(), raw.begin() + layout_.conv_offset(),
                 raw.begin() + layout_.key_records_offset());
  return logical;
}

ops::RecurrentView RecurrentCache::View(int layer) const {
  return {.layout = layout_, .slots = layers_[layer]->As<float>()};
}

int64_t RecurrentCache::slot_bytes() const {
  return static_cast<int64_t>(layout_.slot_floats() * sizeof(float) * layers_.size());
}

int64_t RecurrentCache::bytes() const {
  int64_t sum = 0;
  for (const auto& layer : layers_) sum += static_cast<int64_t>(layer->bytes());
  return sum;
}

}  // namespace verbatim
