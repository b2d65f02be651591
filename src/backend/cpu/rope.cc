// rope_and_cache for every target (ops/rope_and_cache.h). Not the tables of cos and sin, which are
// made on the host.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/rope.cc"
// clang-format off
#include "backend/cpu/simd_config.h"
#include "hwy/foreach_target.h"
// clang-format on
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"
#include "backend/cpu/norm-inl.h"
#include "backend/cpu/step_rows.h"
#include "base/half.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
namespace {

// Rotates x[0, rd): pairs (i, i + rd / 2).
void Rope(const float* cos, const float* sin, int rotary_dim, float* x) {
  const int half = rotary_dim / 2;
  for (int i = 0; i < half; i += kLanes) {
    const int n = half - i;
    const F32x16 x1 = LoadUpTo(x + i, n);
    const F32x16 x2 = LoadUpTo(x + half + i, n);
    const F32x16 c = LoadUpTo(cos + i, n);
    const F32x16 s = LoadUpTo(sin + i, n);
    StoreUpTo(Fma(x1, c, Neg(Mul(x2, s))), x + i, n);
    StoreUpTo(Fma(x2, c, Mul(x1, s)), x + half + i, n);
  }
}

// Writes `head`'s key and value of one slot, rounded once to the cache's type.
template <typename T, typename Round>
void WriteSlot(const ops::KvLayout& layout, std::byte* page, int head, int slot, const float* k,
               const float* v, Round round) {
  T* const elements = reinterpret_cast<T*>(page);
  for (int d = 0; d < layout.head_dim; ++d) {
    elements[layout.KOffset(head, slot, d)] = round(k[d]);
  }
  T* const values = elements + layout.VOffset(head, slot, 0);
  for (int d = 0; d < layout.head_dim; ++d) values[d] = round(v[d]);
}

void WriteSlot(const ops::KvLayout& layout, std::byte* page, int head, int slot, const float* k,
               const float* v) {
  switch (layout.type) {
    case ops::KvType::kBF16:
      return WriteSlot<uint16_t>(layout, page, head, slot, k, v, FloatToBf16);
    case ops::KvType::kF16:
      return WriteSlot<uint16_t>(layout, page, head, slot, k, v, FloatToF16);
    case ops::KvType::kF32:
      return WriteSlot<float>(layout, page, head, slot, k, v, [](float x) { return x; });
  }
}

// One item is one KV head of one row with its query heads.
int64_t RopeItems(const ops::RopeAndCacheArgs& args) {
  return int64_t{args.step.num_rows} * args.cache.layout.num_kv_heads;
}
int64_t RopeItemsPerTask(const ops::RopeAndCacheArgs& args) {
  // Roughly 1 ns a channel of every head, so 8192 channels are 8 us.
  const int heads = args.num_heads / args.cache.layout.num_kv_heads + 2;
  return std::max(1, 8192 / (heads * args.cache.layout.head_dim));
}
void RopeRun(const ops::RopeAndCacheArgs& args, int64_t begin, int64_t end,
             const Workspace& workspace) {
  const ops::KvLayout& layout = args.cache.layout;
  const int kv_heads = layout.num_kv_heads;
  const int hd = layout.head_dim;
  const int group = args.num_heads / kv_heads;
  float* const key = reinterpret_cast<float*>(workspace.thread);  // [hd]
  for (int64_t item = begin; item < end; ++item) {
    const int row = static_cast<int>(item / kv_heads);
    const int kv_head = static_cast<int>(item % kv_heads);
    const ops::SequenceRows& sequence = SequenceOfRow(args.step, row);
    const int index = row - sequence.first_row;
    const int64_t position = int64_t{sequence.first_position} + index;
    const float* cos = args.cos_table + position * (args.rotary_dim / 2);
    const float* sin = args.sin_table + position * (args.rotary_dim / 2);
    for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      float* out = args.q_out + (int64_t{row} * args.num_heads + head) * hd;
      RmsNormRow(args.q + row * args.q_stride + head * args.q_head_stride, args.q_norm_weight, hd,
                 args.eps, out);
      Rope(cos, sin, args.rotary_dim, out);
    }
    const int64_t kv_offset = (int64_t{row} * kv_heads + kv_head) * hd;
    RmsNormRow(args.k + kv_offset, args.k_norm_weight, hd, args.eps, key);
    Rope(cos, sin, args.rotary_dim, key);
    const int slot = sequence.first_slot + index;
    std::byte* page =
        args.cache.pages + sequence.pages[slot / ops::kPageSlots] * layout.page_bytes();
    WriteSlot(layout, page, kv_head, slot % ops::kPageSlots, key, args.v + kv_offset);
  }
}

size_t RopeThreadBytes(const ops::WorkspaceNeeds& needs) { return needs.head_dim * sizeof(float); }

}  // namespace

void FillRopeKernels(KernelTable& table) {
  table.rope_and_cache.phases[0] = {RopeItems, RopeItemsPerTask, RopeRun};
  table.rope_and_cache.thread_bytes = RopeThreadBytes;
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_FILL(FillRopeKernels)
}  // namespace verbatim::cpu
#endif
