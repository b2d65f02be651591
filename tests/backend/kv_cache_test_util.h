// A KV cache with scattered pages for the tests of rope_and_cache and attention, written and read
// element by element through KvLayout. Not the engine's cache (state/).
#ifndef VERBATIM_TESTS_BACKEND_KV_CACHE_TEST_UTIL_H_
#define VERBATIM_TESTS_BACKEND_KV_CACHE_TEST_UTIL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/half.h"
#include "ops/kv_layout.h"

namespace verbatim::cpu {

inline float RoundTo(ops::KvType type, float value) {
  switch (type) {
    case ops::KvType::kBF16:
      return Bf16ToFloat(FloatToBf16(value));
    case ops::KvType::kF16:
      return F16ToFloat(FloatToF16(value));
    case ops::KvType::kF32:
      return value;
  }
  return value;
}

// Pages of several sequences, handed out in an order that is not ascending. Untouched elements are
// NaN, as a rejected row's may be.
class TestCache {
 public:
  TestCache(const ops::KvLayout& layout, int num_pages)
      : layout_(layout), memory_(layout.page_bytes() * num_pages), next_page_(num_pages) {
    std::fill_n(memory_.data(), memory_.size(), std::byte{0xff});
  }

  ops::KvCacheView view() { return {layout_, memory_.data()}; }
  const ops::KvLayout& layout() const { return layout_; }
  const AlignedBuffer<std::byte>& memory() const { return memory_; }

  // Pages for slots [0, num_slots).
  std::vector<int32_t> TakePages(int num_slots) {
    std::vector<int32_t> pages;
    for (int slot = 0; slot < num_slots; slot += ops::kPageSlots) pages.push_back(--next_page_);
    return pages;
  }

  void WriteK(const std::vector<int32_t>& pages, int head, int slot, int d, float value) {
    Write(pages, slot, layout_.KOffset(head, slot % ops::kPageSlots, d), value);
  }
  void WriteV(const std::vector<int32_t>& pages, int head, int slot, int d, float value) {
    Write(pages, slot, layout_.VOffset(head, slot % ops::kPageSlots, d), value);
  }

 private:
  void Write(const std::vector<int32_t>& pages, int slot, size_t offset, float value) {
    std::byte* element = memory_.data() + pages[slot / ops::kPageSlots] * layout_.page_bytes() +
                         offset * layout_.element_bytes();
    if (layout_.type == ops::KvType::kF32) {
      std::memcpy(element, &value, sizeof(value));
      return;
    }
    const uint16_t bits =
        layout_.type == ops::KvType::kBF16 ? FloatToBf16(value) : FloatToF16(value);
    std::memcpy(element, &bits, sizeof(bits));
  }

  ops::KvLayout layout_;
  AlignedBuffer<std::byte> memory_;
  int next_page_;
};

}  // namespace verbatim::cpu

#endif  // VERBATIM_TESTS_BACKEND_KV_CACHE_TEST_UTIL_H_
