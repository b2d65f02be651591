// attention for every target (ops/attention.h): the softmax over chunks and its cutting into items.
// Not the inner loops (attention_tile-inl.h).
//
// An item is a block of queries that read the same K and V: some rows of one sequence times the
// query heads of one KV head, kMaxQueries at most.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/attention.cc"
// clang-format off
#include "backend/cpu/simd_config.h"
#include "hwy/foreach_target.h"
// clang-format on
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/cpu/attention_tile-inl.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_math-inl.h"
#include "base/check.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
namespace {

// One lane per query in the merge of chunks; scratch of 16 * (256 + 2 * 256) floats is 48 KB and
// stays in L2.
constexpr int kMaxQueries = 16;
constexpr int kChunkSlots = ops::kPageSlots;

// How the query heads of a KV head and the rows of a sequence are cut into items.
struct Blocking {
  int group;       // query heads per KV head
  int heads;       // of a group in one item
  int rows;        // of a sequence in one item
  int head_parts;  // items per KV head and row block
};
Blocking BlockingOf(const ops::AttentionArgs& args) {
  const int group = args.num_heads / args.cache.layout.num_kv_heads;
  const int heads = std::min(group, kMaxQueries);
  return {group, heads, kMaxQueries / heads, (group + heads - 1) / heads};
}

int64_t AttentionItems(const ops::AttentionArgs& args) {
  const Blocking blocking = BlockingOf(args);
  int64_t row_blocks = 0;
  for (const ops::SequenceRows& sequence : args.step.sequences) {
    row_blocks += (sequence.num_rows + blocking.rows - 1) / blocking.rows;
  }
  return row_blocks * args.cache.layout.num_kv_heads * blocking.head_parts;
}
int64_t AttentionItemsPerTask(const ops::AttentionArgs&) { return 1; }

// The queries of one item, rows ascending, and their running softmax.
struct Queries {
  int count = 0;
  int row[kMaxQueries] = {};
  int head[kMaxQueries] = {};
  int end[kMaxQueries] = {};  // one past the last visible slot; ascending
  const float* q[kMaxQueries] = {};
  float* scores[kMaxQueries] = {};                // [256] of the chunk, then its probabilities
  float* chunk_out[kMaxQueries] = {};             // [hd] o_c
  float* out[kMaxQueries] = {};                   // [hd] o
  alignas(64) float chunk_max[kMaxQueries] = {};  // m_c
  alignas(64) float chunk_sum[kMaxQueries] = {};  // l_c
  alignas(64) float max[kMaxQueries] = {};        // m
  alignas(64) float sum[kMaxQueries] = {};        // l
};

// scores -> p = exp(s - m_c) in place for the visible slots [begin, end) of the chunk; returns m_c.
// A NaN score may or may not end up in m_c: its p is NaN either way, and so are l and o.
float Probabilities(float* scores, int begin, int end) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  constexpr int kTile = static_cast<int>(kLanes);
  const int first = begin / kTile * kTile;
  const int last = (end + kTile - 1) / kTile * kTile;
  for (int slot = first; slot < begin; ++slot) scores[slot] = kNone;
  for (int slot = end; slot < last; ++slot) scores[slot] = kNone;
  F32x16 max = Set(kNone);
  for (int slot = first; slot < last; slot += kTile) max = MaxKeepFirst(max, Load(scores + slot));
  alignas(64) float lanes[kLanes];
  Store(max, lanes);
  float m = lanes[0];
  for (const float lane : lanes) m = m < lane ? lane : m;
  for (int slot = first; slot < last; slot += kTile) {
    Store(Exp(Sub(Load(scores + slot), Set(m))), scores + slot);
  }
  return m;
}

// The chunk's (m, l, o) of queries [first, count); `page` holds the KV head's K and V.
template <ops::KvType kType>
void RunChunk(const typename KvElement<kType>::Type* page, int head_dim, float scale,
              int chunk_slot, int begin, int first, Queries& queries) {
  const int count = queries.count - first;
  int ends[kMaxQueries] = {};  // in the chunk
  for (int n = 0; n < count; ++n) {
    ends[n] = std::min(queries.end[first + n] - chunk_slot, kChunkSlots);
  }
  constexpr int kTile = static_cast<int>(kLanes);
  for (int slot = begin / kTile * kTile; slot < ends[count - 1]; slot += kTile) {
    ScoreQueries<kType>(page + int64_t{slot} * head_dim, head_dim, scale, queries.q + first,
                        queries.scores + first, slot, count);
  }
  float* const* p = queries.scores + first;
  float* const* out = queries.chunk_out + first;
  for (int n = 0; n < count; ++n) {
    queries.chunk_max[first + n] = Probabilities(p[n], begin, ends[n]);
    std::fill(out[n], out[n] + head_dim, 0.0f);
  }
  // l_c, the chains of p * 1. All queries in one pass: a chain alone would wait for each addition.
  float* const sums = queries.chunk_sum + first;
  std::fill_n(queries.chunk_sum, kMaxQueries, 0.0f);
  for (int slot = begin; slot < ends[0]; ++slot) {
    for (int n = 0; n < count; ++n) sums[n] += p[n][slot];
  }
  // o_c: the slots that all queries see share the loads of V, the others follow.
  const auto* values = page + int64_t{kChunkSlots} * head_dim;
  AddValues<kType>(values, head_dim, begin, ends[0], p, out, count);
  for (int n = 0; n < count; ++n) {
    if (ends[n] == ends[0]) continue;
    for (int slot = ends[0]; slot < ends[n]; ++slot) sums[n] += p[n][slot];
    AddValues<kType>(values, head_dim, ends[0], ends[n], p + n, out + n, 1);
  }
}

// (m, l, o) of queries [first, count) with their chunk's (m_c, l_c, o_c).
void Merge(Queries& queries, int first, int head_dim) {
  const F32x16 m = Load(queries.max);
  const F32x16 m_c = Load(queries.chunk_max);
  const F32x16 m_new = MaxKeepFirst(m, m_c);
  const F32x16 a = Exp(Sub(m, m_new));
  const F32x16 b = Exp(Sub(m_c, m_new));
  alignas(64) float a_lanes[kLanes], b_lanes[kLanes], m_lanes[kLanes], l_lanes[kLanes];
  Store(a, a_lanes);
  Store(b, b_lanes);
  Store(m_new, m_lanes);
  Store(Fma(Load(queries.chunk_sum), b, Mul(Load(queries.sum), a)), l_lanes);
  for (int n = first; n < queries.count; ++n) {
    queries.max[n] = m_lanes[n];
    queries.sum[n] = l_lanes[n];
    const F32x16 old_weight = Set(a_lanes[n]);
    const F32x16 new_weight = Set(b_lanes[n]);
    float* o = queries.out[n];
    for (int d = 0; d < head_dim; d += kLanes) {
      Store(Fma(Load(queries.chunk_out[n] + d), new_weight, Mul(Load(o + d), old_weight)), o + d);
    }
  }
}

template <ops::KvType kType>
void RunChunks(const ops::AttentionArgs& args, const ops::SequenceRows& sequence, int kv_head,
               Queries& queries) {
  using Element = typename KvElement<kType>::Type;
  const ops::KvLayout& layout = args.cache.layout;
  const int first_chunk = sequence.first_visible_slot / kChunkSlots;
  const int last_end = queries.end[queries.count - 1];
  for (int chunk = first_chunk; chunk * kChunkSlots < last_end; ++chunk) {
    const int chunk_slot = chunk * kChunkSlots;
    const int begin = std::max(sequence.first_visible_slot - chunk_slot, 0);
    int first = 0;  // rows before it end before this chunk
    while (queries.end[first] <= chunk_slot + begin) ++first;
    const auto* page = reinterpret_cast<const Element*>(args.cache.pages + sequence.pages[chunk] *
                                                                               layout.page_bytes());
    RunChunk<kType>(page + kv_head * layout.head_elements(), layout.head_dim, args.scale,
                    chunk_slot, begin, first, queries);
    if (chunk == first_chunk) {
      // Every row sees its own slot and hence the first visible one: all queries start here.
      VERBATIM_CHECK(first == 0);
      std::copy_n(queries.chunk_max, kMaxQueries, queries.max);
      std::copy_n(queries.chunk_sum, kMaxQueries, queries.sum);
      std::swap_ranges(queries.out, queries.out + kMaxQueries, queries.chunk_out);
    } else {
      Merge(queries, first, layout.head_dim);
    }
  }
}

void WriteResults(const ops::AttentionArgs& args, const Queries& queries) {
  const int hd = args.cache.layout.head_dim;
  for (int n = 0; n < queries.count; ++n) {
    const F32x16 inverse = Set(1.0f / queries.sum[n]);
    const int64_t row = queries.row[n];
    float* out = args.out + (row * args.num_heads + queries.head[n]) * hd;
    const float* gate = args.gate == nullptr ? nullptr
                                             : args.gate + row * args.gate_stride +
                                                   queries.head[n] * args.gate_head_stride;
    for (int d = 0; d < hd; d += kLanes) {
      F32x16 y = Mul(Load(queries.out[n] + d), inverse);
      if (gate != nullptr) y = Mul(y, Sigmoid(Load(gate + d)));
      Store(y, out + d);
    }
  }
}

void RunItem(const ops::AttentionArgs& args, const Blocking& blocking,
             const ops::SequenceRows& sequence, int first_row, int kv_head, int first_head,
             float* scratch) {
  const int hd = args.cache.layout.head_dim;
  const int last_row = std::min(first_row + blocking.rows, sequence.num_rows);
  const int last_head = std::min(first_head + blocking.heads, blocking.group);
  Queries queries;
  for (int n = 0; n < kMaxQueries; ++n) {
    queries.scores[n] = scratch;
    queries.chunk_out[n] = scratch + kChunkSlots;
    queries.out[n] = scratch + kChunkSlots + hd;
    scratch += kChunkSlots + 2 * hd;
  }
  for (int index = first_row; index < last_row; ++index) {
    for (int g = first_head; g < last_head; ++g) {
      const int n = queries.count++;
      queries.row[n] = sequence.first_row + index;
      queries.head[n] = kv_head * blocking.group + g;
      queries.end[n] = sequence.first_slot + index + 1;
      queries.q[n] = args.q + (int64_t{queries.row[n]} * args.num_heads + queries.head[n]) * hd;
    }
  }
  switch (args.cache.layout.type) {
    case ops::KvType::kBF16:
      RunChunks<ops::KvType::kBF16>(args, sequence, kv_head, queries);
      break;
    case ops::KvType::kF16:
      RunChunks<ops::KvType::kF16>(args, sequence, kv_head, queries);
      break;
    case ops::KvType::kF32:
      RunChunks<ops::KvType::kF32>(args, sequence, kv_head, queries);
      break;
  }
  WriteResults(args, queries);
}

void AttentionRun(const ops::AttentionArgs& args, int64_t begin, int64_t end,
                  const Workspace& workspace) {
  const Blocking blocking = BlockingOf(args);
  const int kv_heads = args.cache.layout.num_kv_heads;
  int64_t first_item = 0;  // of the sequence
  for (const ops::SequenceRows& sequence : args.step.sequences) {
    const int row_blocks = (sequence.num_rows + blocking.rows - 1) / blocking.rows;
    const int64_t items = int64_t{row_blocks} * kv_heads * blocking.head_parts;
    const int64_t from = std::max(begin - first_item, int64_t{0});
    const int64_t to = std::min(end - first_item, items);
    for (int64_t item = from; item < to; ++item) {
      const int part = static_cast<int>(item % blocking.head_parts);
      const int kv_head = static_cast<int>(item / blocking.head_parts % kv_heads);
      const int row_block = static_cast<int>(item / blocking.head_parts / kv_heads);
      RunItem(args, blocking, sequence, row_block * blocking.rows, kv_head, part * blocking.heads,
              reinterpret_cast<float*>(workspace.thread));
    }
    first_item += items;
  }
}

size_t AttentionThreadBytes(const ops::WorkspaceNeeds& needs) {
  return size_t{kMaxQueries} * (kChunkSlots + 2 * needs.head_dim) * sizeof(float);
}

}  // namespace

void FillAttentionKernels(KernelTable& table) {
  table.attention.phases[0] = {AttentionItems, AttentionItemsPerTask, AttentionRun};
  table.attention.thread_bytes = AttentionThreadBytes;
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_FILL(FillAttentionKernels)
}  // namespace verbatim::cpu
#endif
