// KvLayout: where one layer's keys and values lie in its pages. Not who owns which page (state/).
//
// A page holds 256 slots, which is one attention chunk (numerics.md 5). Per KV head, first K, then
// V: K  [slot / 16][d / 2][16][2] for 16-bit types, [slot / 16][d][16] for f32: a lane owns a slot.
// V  [slot][d]: a lane owns a channel.
#ifndef VERBATIM_OPS_KV_LAYOUT_H_
#define VERBATIM_OPS_KV_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace verbatim::ops {

enum class KvType : uint8_t { kBF16, kF16, kF32 };

inline constexpr int kPageSlots = 256;

struct KvLayout {
  int num_kv_heads = 0;
  int head_dim = 0;  // a multiple of 16
  KvType type = KvType::kBF16;

  size_t element_bytes() const { return type == KvType::kF32 ? 4 : 2; }
  size_t head_elements() const { return size_t{2} * kPageSlots * head_dim; }  // K and V of one head
  size_t page_bytes() const { return head_elements() * num_kv_heads * element_bytes(); }

  // Element offsets inside a page; slot in [0, 256).
  size_t KOffset(int head, int slot, int d) const {
    const size_t tile = head * head_elements() + size_t{16} * (slot / 16) * head_dim;
    return type == KvType::kF32 ? tile + size_t{16} * d + slot % 16
                                : tile + size_t{32} * (d / 2) + 2 * (slot % 16) + d % 2;
  }
  size_t VOffset(int head, int slot, int d) const {
    return head * head_elements() + (size_t{kPageSlots} + slot) * head_dim + d;
  }
};

struct KvCacheView {
  KvLayout layout;
  std::byte* pages = nullptr;  // page p starts at pages + p * layout.page_bytes(); device memory
};

}  // namespace verbatim::ops

#endif  // VERBATIM_OPS_KV_LAYOUT_H_
