// Rope with the cache's write, and attention over a cache of a few lengths. Shape of the 0.8B
// model.
#include <cmath>
#include <vector>

#include "bench/bench_support.h"
#include "numerics/reference/attention.h"
#include "numerics/reference/norm.h"
#include "numerics/reference/rope.h"
#include "tests/backend/kv_cache_test_util.h"

namespace verbatim::bench {
namespace {

constexpr int kHeads = 8;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 256;
constexpr int kRotaryDim = 64;
constexpr float kEps = 1e-6f;
constexpr ops::KvLayout kLayout = {kKvHeads, kHeadDim, ops::KvType::kBF16};

int NumPages(int slots) {
  return (slots + ops::kPageSlots - 1) / static_cast<int>(ops::kPageSlots);
}

// A cache with `first_slot` positions before the step's rows.
struct Step {
  Step(int num_rows, int first_slot)
      : rows(num_rows),
        backend(MakeBackend()),
        random(1),
        cache(kLayout, NumPages(first_slot + num_rows)),
        pages(cache.TakePages(first_slot + num_rows)),
        q(random.Values(size_t(num_rows) * kHeads * kHeadDim)),
        out(q.size()) {
    sequence.num_rows = sequence.num_certain = num_rows;
    sequence.first_slot = sequence.first_position = first_slot;
    sequence.pages = pages.data();
  }
  bool Reserve() {
    ops::WorkspaceNeeds needs;
    needs.max_rows = rows;
    needs.num_heads = kHeads;
    needs.head_dim = kHeadDim;
    return backend->Reserve(needs).ok();
  }

  int rows;
  std::unique_ptr<ops::Backend> backend;
  cpu::Random random;
  cpu::TestCache cache;
  std::vector<int32_t> pages;
  ops::SequenceRows sequence;
  std::vector<float> q, out;
};

void Attention(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  const int context = static_cast<int>(state.range(1));
  Step step(rows, context);
  if (!step.Reserve()) return state.SkipWithError("memory");
  const size_t head_floats = size_t(context + rows) * kHeadDim;
  std::vector<float> k(head_floats * kKvHeads);
  std::vector<float> v(k.size());
  for (int head = 0; head < kKvHeads; ++head) {
    for (int slot = 0; slot < context + rows; ++slot) {
      for (int d = 0; d < kHeadDim; ++d) {
        const size_t i = head * head_floats + size_t(slot) * kHeadDim + d;
        k[i] = cpu::RoundTo(kLayout.type, step.random.Ordinary());
        v[i] = cpu::RoundTo(kLayout.type, step.random.Ordinary());
        step.cache.WriteK(step.pages, head, slot, d, k[i]);
        step.cache.WriteV(step.pages, head, slot, d, v[i]);
      }
    }
  }
  const float scale = 1.0f / 16;  // head_dim^-0.5
  std::vector<float> expected(step.q.size());
  for (int row = 0; row < rows; ++row) {
    for (int head = 0; head < kHeads; ++head) {
      const size_t offset = (size_t(row) * kHeads + head) * kHeadDim;
      const size_t kv = (head / (kHeads / kKvHeads)) * head_floats;
      reference::Attention({.q = step.q.data() + offset,
                            .k = k.data() + kv,
                            .v = v.data() + kv,
                            .gate = nullptr,
                            .d = kHeadDim,
                            .first_slot = 0,
                            .last_slot = context + row,
                            .scale = scale},
                           expected.data() + offset);
    }
  }
  const auto run = [&] {
    ops::AttentionArgs args;
    args.step = {{&step.sequence, 1}, rows};
    args.q = step.q.data();
    args.num_heads = kHeads;
    args.scale = scale;
    args.cache = step.cache.view();
    args.out = step.out.data();
    step.backend->Attention(args);
  };
  run();
  if (!Equals(state, expected, step.out)) return;
  Time(state, rows, run);
}
BENCHMARK(Attention)
    ->ArgNames({"rows", "context"})
    ->ArgsProduct({{1, 4, 16}, {0, 512, 4096}})
    ->Args({256, 256})
    ->UseRealTime();

void RopeAndCache(benchmark::State& state) {
  const int rows = static_cast<int>(state.range(0));
  constexpr int kFirst = 300;
  Step step(rows, kFirst);
  if (!step.Reserve()) return state.SkipWithError("memory");
  const std::vector<float> q = step.random.Values(size_t(rows) * kHeads * 2 * kHeadDim);
  const std::vector<float> k = step.random.Values(size_t(rows) * kKvHeads * kHeadDim);
  const std::vector<float> v = step.random.Values(k.size());
  const std::vector<float> wq = step.random.Values(kHeadDim);
  const std::vector<float> wk = step.random.Values(kHeadDim);
  const size_t table = kRotaryDim / 2;
  const std::vector<float> cos = step.random.Values((kFirst + rows) * table);
  const std::vector<float> sin = step.random.Values(cos.size());
  std::vector<float> expected(step.q.size());
  for (int row = 0; row < rows; ++row) {
    for (int head = 0; head < kHeads; ++head) {
      float* out = expected.data() + (size_t(row) * kHeads + head) * kHeadDim;
      reference::RmsNorm(q.data() + (size_t(row) * kHeads + head) * 2 * kHeadDim, wq.data(),
                         kHeadDim, kEps, out);
      reference::Rope(out, kHeadDim, kRotaryDim, cos.data() + (kFirst + row) * table,
                      sin.data() + (kFirst + row) * table, out);
    }
  }
  const auto run = [&] {
    ops::RopeAndCacheArgs args;
    args.step = {{&step.sequence, 1}, rows};
    args.q = q.data();
    args.q_stride = int64_t{kHeads} * 2 * kHeadDim;
    args.q_head_stride = 2 * kHeadDim;
    args.k = k.data();
    args.v = v.data();
    args.q_norm_weight = wq.data();
    args.k_norm_weight = wk.data();
    args.eps = kEps;
    args.num_heads = kHeads;
    args.rotary_dim = kRotaryDim;
    args.cos_table = cos.data();
    args.sin_table = sin.data();
    args.cache = step.cache.view();
    args.q_out = step.out.data();
    step.backend->RopeAndCache(args);
  };
  run();
  if (Equals(state, expected, step.out)) Time(state, rows, run);
}
BENCHMARK(RopeAndCache)->ArgName("rows")->Arg(1)->Arg(4)->Arg(16)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace verbatim::bench
