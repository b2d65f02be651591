// Cases of attention, and of rope with the write of K and V, whose pages are compared too.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "measure/op_parity_cases.h"
#include "measure/random_values.h"
#include "model/device_vector.h"
#include "numerics/rotary.h"

namespace verbatim::parity {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
enum Stream : uint64_t { kQ = 301, kK, kV, kCache, kQueryNorm, kKeyNorm, kAccepted };

// Slots before the block, by seed: one that reaches the next page (and chunk of the sums) from the
// 14th row on, one that starts a sequence, and one that reaches it at once.
constexpr std::array kFirstSlots = {243, 0, 255};
// What those and 64 rows touch; the order in memory is not that of the slots.
constexpr std::array<int32_t, 2> kPages = {1, 0};

// A cache of one layer: random bfloat16 in every slot, also behind the rows, as rejected drafts
// leave them.
struct Cache {
  std::unique_ptr<ops::DeviceBuffer> pages;
  std::vector<std::byte> initial;
  ops::KvLayout layout;

  static Expected<Cache> Create(ops::Backend& backend, const AttentionShape& shape, int seed) {
    Cache cache;
    cache.layout = {.num_kv_heads = shape.num_kv_heads, .head_dim = shape.head_dim};
    cache.initial.resize(kPages.size() * cache.layout.page_bytes());
    RandomHalves(1, false).Fill(RandomWord(kCache, static_cast<uint64_t>(seed)), 0, cache.initial);
    VERBATIM_ASSIGN_OR_RETURN(cache.pages, backend.Allocate(cache.initial.size()));
    cache.Restore(backend);
    return cache;
  }
  void Restore(ops::Backend& backend) {
    backend.CopyFromHost(pages->data(), initial.data(), initial.size());
  }
  ops::KvCacheView view() const { return {layout, pages->As<std::byte>()}; }
  std::vector<std::byte> Bytes(ops::Backend& backend) const {
    std::vector<std::byte> bytes(initial.size());
    backend.Synchronize();
    backend.CopyToHost(bytes.data(), pages->data(), bytes.size());
    return bytes;
  }
};

// One sequence's rows from its row `first` on.
ops::SequenceRows Rows(int seed, int first, int count) {
  const int slot = kFirstSlots[static_cast<size_t>(seed) % kFirstSlots.size()] + first;
  return {.num_rows = count,
          .num_certain = 1,
          .first_slot = slot,
          .first_position = slot,
          .pages = kPages.data()};
}

Status RunAttention(CaseRun& run, const AttentionShape& shape) {
  const int64_t width = int64_t{shape.num_heads} * shape.head_dim;
  const double head_dim = shape.head_dim;
  VERBATIM_ASSIGN_OR_RETURN(const DeviceVector out,
                            DeviceVector::Zeros(run.backend, run.max_width * width));
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_ASSIGN_OR_RETURN(const Cache cache, Cache::Create(run.backend, shape, seed));
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector q,
                              DeviceInputs(run.backend, kQ, seed, run.max_width, width));
    // Rows of [head][query | gate], as the projection leaves them.
    VERBATIM_ASSIGN_OR_RETURN(const DeviceVector query_gate,
                              DeviceInputs(run.backend, kK, seed, run.max_width, 2 * width));
    CompareRows(run, seed, Element::kF32, width * kFloatBytes,
                [&](int first, int count, std::byte* host) {
                  const ops::SequenceRows rows[] = {Rows(seed, first, count)};
                  const float* gate = query_gate.data() + 2 * width * first + shape.head_dim;
                  run.backend.Attention({.step = {.sequences = rows, .num_rows = count},
                                         .q = q.data() + first * width,
                                         .gate = shape.gated ? gate : nullptr,
                                         .gate_stride = 2 * width,
                                         .gate_head_stride = int64_t{2} * shape.head_dim,
                                         .num_heads = shape.num_heads,
                                         .scale = static_cast<float>(1.0 / std::sqrt(head_dim)),
                                         .cache = cache.view(),
                                         .out = out.data()});
                  run.backend.Synchronize();
                  run.backend.CopyToHost(host, out.data(),
                                         static_cast<size_t>(count * width * kFloatBytes));
                });
  }
  return {};
}

// The inputs of rope_and_cache for one seed, and calls over some of them.
class Rope {
 public:
  static Expected<Rope> Create(ops::Backend& backend, const AttentionShape& shape, int max_rows) {
    Rope rope;
    rope.shape_ = shape;
    const RotaryTables tables = MakeRotaryTables(shape.rope_theta, shape.rotary_dim,
                                                 int64_t{ops::kPageSlots} * int64_t{kPages.size()});
    VERBATIM_ASSIGN_OR_RETURN(rope.cos_, DeviceVector::From(backend, tables.cos));
    VERBATIM_ASSIGN_OR_RETURN(rope.sin_, DeviceVector::From(backend, tables.sin));
    VERBATIM_ASSIGN_OR_RETURN(
        rope.q_norm_, DeviceVector::From(backend, RandomNormWeight(kQueryNorm, shape.head_dim)));
    VERBATIM_ASSIGN_OR_RETURN(
        rope.k_norm_, DeviceVector::From(backend, RandomNormWeight(kKeyNorm, shape.head_dim)));
    VERBATIM_ASSIGN_OR_RETURN(rope.out_, DeviceVector::Zeros(backend, max_rows * rope.out_width()));
    return rope;
  }
  Status SetSeed(ops::Backend& backend, int seed, int max_rows) {
    seed_ = seed;
    VERBATIM_ASSIGN_OR_RETURN(q_, DeviceInputs(backend, kQ, seed, max_rows, q_width()));
    VERBATIM_ASSIGN_OR_RETURN(k_, DeviceInputs(backend, kK, seed, max_rows, k_width()));
    VERBATIM_ASSIGN_OR_RETURN(v_, DeviceInputs(backend, kV, seed, max_rows, k_width()));
    return {};
  }
  int64_t out_width() const { return int64_t{shape_.num_heads} * shape_.head_dim; }

  // Rows [first, first + count) of the inputs, at the slot of row `place`.
  void Run(ops::Backend& backend, const Cache& cache, int first, int place, int count,
           std::byte* host, float eps) const {
    const ops::SequenceRows rows[] = {Rows(seed_, place, count)};
    backend.RopeAndCache({.step = {.sequences = rows, .num_rows = count},
                          .q = q_.data() + first * q_width(),
                          .q_stride = q_width(),
                          .q_head_stride = q_width() / shape_.num_heads,
                          .k = k_.data() + first * k_width(),
                          .v = v_.data() + first * k_width(),
                          .q_norm_weight = q_norm_.data(),
                          .k_norm_weight = k_norm_.data(),
                          .eps = eps,
                          .num_heads = shape_.num_heads,
                          .rotary_dim = shape_.rotary_dim,
                          .cos_table = cos_.data(),
                          .sin_table = sin_.data(),
                          .cache = cache.view(),
                          .q_out = out_.data()});
    backend.Synchronize();
    backend.CopyToHost(host, out_.data(),
                       static_cast<size_t>(count) * static_cast<size_t>(out_width()) * 4);
  }

 private:
  int64_t q_width() const { return (shape_.gated ? 2 : 1) * out_width(); }
  int64_t k_width() const { return int64_t{shape_.num_kv_heads} * shape_.head_dim; }

  AttentionShape shape_;
  int seed_ = 0;
  DeviceVector cos_, sin_, q_norm_, k_norm_, q_, k_, v_, out_;
};

// Slots from `first` on belong to rejected rows: nobody sees them, so both arms get the same bytes.
void ClearFrom(const ops::KvLayout& layout, int first, std::vector<std::byte>& pages) {
  for (int slot = first; slot < static_cast<int>(kPages.size()) * ops::kPageSlots; ++slot) {
    auto* page = reinterpret_cast<uint16_t*>(
        &pages[static_cast<size_t>(kPages[static_cast<size_t>(slot / ops::kPageSlots)]) *
               layout.page_bytes()]);
    for (int head = 0; head < layout.num_kv_heads; ++head) {
      for (int d = 0; d < layout.head_dim; ++d) {
        page[layout.KOffset(head, slot % ops::kPageSlots, d)] = 0;
        page[layout.VOffset(head, slot % ops::kPageSlots, d)] = 0;
      }
    }
  }
}

// Per width: the block over all rows, and the pages after it; then the same block of whose rows the
// last are rejected, and one more row in the place of the first of those.
Status RunRopeAndCache(CaseRun& run, const AttentionShape& shape, float eps) {
  VERBATIM_ASSIGN_OR_RETURN(Rope rope, Rope::Create(run.backend, shape, run.max_width));
  const auto row_bytes = static_cast<size_t>(rope.out_width() * kFloatBytes);
  std::vector<std::byte> block(row_bytes * static_cast<size_t>(run.max_width));
  std::vector<std::byte> single(block.size());
  std::vector<std::byte> next_block(row_bytes), next_single(row_bytes);
  for (int seed = 0; seed < run.num_seeds; ++seed) {
    VERBATIM_RETURN_IF_ERROR(rope.SetSeed(run.backend, seed, run.max_width + 1));
    VERBATIM_ASSIGN_OR_RETURN(Cache block_cache, Cache::Create(run.backend, shape, seed));
    VERBATIM_ASSIGN_OR_RETURN(Cache single_cache, Cache::Create(run.backend, shape, seed));
    int done = 0;  // rows that the single arm has written
    run.single_log.Clear();
    for (WidthRecorder& recorder : run.widths) {
      const int width = recorder.width();
      run.backend.SetDispatchLog(&run.single_log);
      for (; done < width; ++done) {
        rope.Run(run.backend, single_cache, done, done, 1,
                 &single[row_bytes * static_cast<size_t>(done)], eps);
      }
      run.block_log.Clear();
      run.backend.SetDispatchLog(&run.block_log);
      block_cache.Restore(run.backend);
      rope.Run(run.backend, block_cache, 0, 0, width, block.data(), eps);
      run.backend.SetDispatchLog(nullptr);
      const size_t size = row_bytes * static_cast<size_t>(width);
      recorder.AddRows(seed, Element::kF32, std::span(block).first(size),
                       std::span(single).first(size));
      recorder.AddRoutes(run.block_log, run.single_log);
      recorder.AddState(seed, Element::kBf16, block_cache.Bytes(run.backend),
                        single_cache.Bytes(run.backend), fmt::format("{} rows", width));
      if (width == 1) continue;

      const int accepted = static_cast<int>(RandomWord(kAccepted, CounterOf(seed, width)) %
                                            static_cast<uint64_t>(width - 1));
      const int kept = 1 + accepted;
      // Both go on with the row behind the block's last, whose values nobody has written yet.
      const std::vector<std::byte> ahead = single_cache.Bytes(run.backend);
      rope.Run(run.backend, block_cache, width, kept, 1, next_block.data(), eps);
      rope.Run(run.backend, single_cache, width, kept, 1, next_single.data(), eps);
      std::vector<std::byte> block_pages = block_cache.Bytes(run.backend);
      std::vector<std::byte> single_pages = single_cache.Bytes(run.backend);
      const int end = Rows(seed, kept + 1, 1).first_slot;
      ClearFrom(block_cache.layout, end, block_pages);
      ClearFrom(block_cache.layout, end, single_pages);
      recorder.AddState(
          seed, Element::kF32, next_block, next_single,
          fmt::format("{} of {} drafts accepted, in the next row's queries", accepted, width - 1));
      recorder.AddState(
          seed, Element::kBf16, block_pages, single_pages,
          fmt::format("{} of {} drafts accepted and the next row", accepted, width - 1));
      run.backend.CopyFromHost(single_cache.pages->data(), ahead.data(), ahead.size());
    }
  }
  return {};
}

// As many KV heads as the budget allows, each with its query heads.
AttentionShape Slice(AttentionShape shape, int max_kv_heads) {
  const int kv_heads = std::min(shape.num_kv_heads, max_kv_heads);
  shape.num_heads = shape.num_heads / shape.num_kv_heads * kv_heads;
  shape.num_kv_heads = kv_heads;
  return shape;
}

std::string HeadsOf(int used, int all) {
  return used == all ? fmt::format("{}", all) : fmt::format("{} of {}", used, all);
}

}  // namespace

void AddAttentionCases(const ModelShapes& model, const Budget& budget, const Wanted& wanted,
                       std::vector<Case>& cases) {
  for (const AttentionShape& whole : model.attentions) {
    const AttentionShape shape = Slice(whole, budget.max_kv_heads);
    ops::WorkspaceNeeds needs;
    needs.num_heads = shape.num_heads;
    needs.head_dim = shape.head_dim;
    const std::string heads =
        fmt::format("{} heads of {}, {} KV heads", HeadsOf(shape.num_heads, whole.num_heads),
                    shape.head_dim, HeadsOf(shape.num_kv_heads, whole.num_kv_heads));
    const auto add = [&](const std::string& op, const std::string& text, auto run) {
      if (!wanted(op)) return;
      cases.push_back({.description = {.op = op,
                                       .model = model.name,
                                       .what = shape.name.empty() ? "attention" : shape.name,
                                       .shape = text},
                       .needs = needs,
                       .run = std::move(run)});
    };
    add("rope_and_cache", fmt::format("{}, {} channels turned", heads, shape.rotary_dim),
        [shape, eps = model.eps](CaseRun& run) { return RunRopeAndCache(run, shape, eps); });
    add("attention", fmt::format("{}{}", heads, shape.gated ? ", gated" : ""),
        [shape](CaseRun& run) { return RunAttention(run, shape); });
  }
}

}  // namespace verbatim::parity
