// attention equals the reference bit for bit on every target, whatever lies beyond what a row sees.
#include "numerics/reference/attention.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/backend/kv_cache_test_util.h"
#include "tests/backend/state_op_test_util.h"

namespace verbatim::cpu {
namespace {

constexpr ops::KvType kTypes[] = {ops::KvType::kBF16, ops::KvType::kF16, ops::KvType::kF32};

struct Shape {
  int num_heads, num_kv_heads, head_dim;
};
constexpr Shape kNano = {4, 2, 64};
constexpr Shape k27B = {24, 4, 256};

struct Rows {
  int num_rows, first_slot;
  int first_visible_slot = 0;
};

struct Case {
  Shape shape = kNano;
  ops::KvType type = ops::KvType::kBF16;
  Inputs inputs = Inputs::kOrdinary;
  std::vector<Rows> sequences;
  bool gated = true;
};

// The step of a case with its memory, and what the reference makes of it.
struct Fixture {
  explicit Fixture(const Case& test);

  ops::AttentionArgs Args() {
    ops::AttentionArgs args;
    args.step = {sequences, num_rows};
    args.q = q.data();
    if (gated) args.gate = gate.data() + shape.head_dim;
    args.gate_stride = int64_t{shape.num_heads} * 2 * shape.head_dim;
    args.gate_head_stride = 2 * shape.head_dim;
    args.num_heads = shape.num_heads;
    args.scale = scale;
    args.cache = cache.view();
    return args;
  }

  Shape shape;
  bool gated;
  float scale;
  int num_rows = 0;
  TestCache cache;
  std::vector<std::vector<int32_t>> pages;
  std::vector<ops::SequenceRows> sequences;
  std::vector<float> q;
  std::vector<float> gate;  // [M, nH, 2, hd]: query half unused, then the gate
  std::vector<float> expected;

 private:
  static int NumPages(const Case& test) {
    int num_pages = 0;
    for (const Rows& rows : test.sequences) {
      num_pages += (rows.first_slot + rows.num_rows + 255) / 256;
    }
    return num_pages;
  }
};

Fixture::Fixture(const Case& test)
    : shape(test.shape),
      gated(test.gated),
      scale(static_cast<float>(1.0 / std::sqrt(double{1.0} * test.shape.head_dim))),
      cache({test.shape.num_kv_heads, test.shape.head_dim, test.type}, NumPages(test)) {
  const auto [num_heads, num_kv_heads, hd] = shape;
  for (const Rows& rows : test.sequences) num_rows += rows.num_rows;
  Random random(num_rows * 31 + hd);
  q = random.Values(size_t(num_rows) * num_heads * hd, test.inputs);
  gate = random.Values(q.size() * 2, test.inputs);
  expected.resize(q.size());
  int first_row = 0;
  for (const Rows& rows : test.sequences) {
    const int slots = rows.first_slot + rows.num_rows;
    pages.push_back(cache.TakePages(slots));
    // Slots nobody sees stay NaN in the cache and in the reference's copy.
    const size_t head_floats = size_t(slots) * hd;
    std::vector<float> k(head_floats * num_kv_heads, std::nanf("")), v = k;
    for (int head = 0; head < num_kv_heads; ++head) {
      for (int slot = rows.first_visible_slot; slot < slots; ++slot) {
        for (int d = 0; d < hd; ++d) {
          const size_t i = head * head_floats + size_t(slot) * hd + d;
          k[i] = RoundTo(test.type, random.Value(test.inputs));
          v[i] = RoundTo(test.type, random.Value(test.inputs));
          cache.WriteK(pages.back(), head, slot, d, k[i]);
          cache.WriteV(pages.back(), head, slot, d, v[i]);
        }
      }
    }
    ops::SequenceRows sequence;
    sequence.first_row = first_row;
    sequence.num_rows = sequence.num_certain = rows.num_rows;
    sequence.first_slot = rows.first_slot;
    sequence.first_visible_slot = rows.first_visible_slot;
    sequences.push_back(sequence);
    for (int index = 0; index < rows.num_rows; ++index) {
      for (int head = 0; head < num_heads; ++head) {
        const size_t offset = (size_t(first_row + index) * num_heads + head) * hd;
        const size_t kv = (head / (num_heads / num_kv_heads)) * head_floats;
        reference::Attention({q.data() + offset, k.data() + kv, v.data() + kv,
                              gated ? gate.data() + 2 * offset + hd : nullptr, hd,
                              rows.first_visible_slot, rows.first_slot + index, scale},
                             expected.data() + offset);
      }
    }
    first_row += rows.num_rows;
  }
  for (size_t s = 0; s < pages.size(); ++s) sequences[s].pages = pages[s].data();
}

void Check(const Case& test, std::span<const RunPlan> plans = kRunPlans) {
  Fixture fixture(test);
  ops::WorkspaceNeeds needs;
  needs.head_dim = test.shape.head_dim;
  needs.num_heads = test.shape.num_heads;
  for (const Target target : TestTargets()) {
    const KernelTable table = StateOpTable(target);
    for (const RunPlan& plan : plans) {
      std::vector<float> out(fixture.expected.size());
      ops::AttentionArgs args = fixture.Args();
      args.out = out.data();
      RunOp(table.attention, args, needs, plan);
      ASSERT_TRUE(SameBits(fixture.expected, out))
          << TargetName(target) << " rows " << fixture.num_rows << " threads " << plan.threads;
    }
  }
}

TEST(Attention, EqualsReferenceAtEveryRowCount) {
  for (const int rows : AllRowCounts()) {
    const Shape shape = rows > 64 ? Shape{2, 1, 16} : Shape{2, 1, 32};
    Check({.shape = shape, .type = kTypes[rows % 3], .sequences = {{rows, rows % 5}}},
          std::span(kRunPlans).subspan(rows % 4, 1));
  }
}

TEST(Attention, EqualsReferenceAroundChunkBoundaries) {
  size_t index = 0;
  for (const ops::KvType type : kTypes) {
    for (const int first_slot : {253, 254, 255, 256, 257, 510, 511, 512, 513}) {
      Check({.type = type, .sequences = {{4, first_slot}}}, RunPlansOf(index++));
    }
  }
}

TEST(Attention, SlotsBelowTheFirstVisibleDoNotExist) {
  for (const ops::KvType type : kTypes) {
    Check({.type = type, .sequences = {{1, 1, 1}, {9, 1, 1}, {5, 254, 1}}});
    Check({.type = type, .sequences = {{3, 17, 17}, {3, 300, 255}, {3, 300, 256}, {3, 300, 299}}});
  }
}

TEST(Attention, SequencesOfOneStepSeeTheirOwnSlots) {
  Check({.sequences = {{1, 0}, {16, 250}, {5, 3}, {1, 600}, {33, 0}}});
}

TEST(Attention, EqualsReferenceOnHostileInputs) {
  size_t index = 0;
  for (const ops::KvType type : kTypes) {
    for (const Inputs inputs : kAllInputs) {
      Check({.type = type, .inputs = inputs, .sequences = {{20, 250}, {2, 3}}},
            RunPlansOf(index++));
    }
  }
}

TEST(Attention, EqualsReferenceOnOtherShapes) {
  Check({.shape = k27B, .sequences = {{4, 254}, {1, 30}}});
  Check({.shape = {24, 4, 256}, .type = ops::KvType::kF16, .sequences = {{2, 40}}, .gated = false});
  Check({.shape = {3, 3, 48}, .sequences = {{18, 20}}});  // one query head per KV head
  Check({.shape = {20, 1, 16}, .sequences = {{3, 20}}});  // more query heads than an item takes
  Check({.shape = {5, 1, 80}, .sequences = {{7, 20}}});   // a run of channels and one more
  Check({.shape = {2, 1, 512}, .sequences = {{10, 0}}});
}

TEST(Attention, EqualsReferenceWithoutGate) { Check({.sequences = {{7, 250}}, .gated = false}); }

// A rejected draft leaves K and V that the next rows must not see, even if they are NaN.
TEST(Attention, StaleNaNBeyondTheRowChangesNothing) {
  const Case test = {.sequences = {{3, 100}}};
  Fixture fixture(test);
  for (int head = 0; head < 2; ++head) {
    for (int slot = 103; slot < 256; ++slot) {
      for (int d = 0; d < 64; ++d) {
        fixture.cache.WriteK(fixture.pages[0], head, slot, d,
                             slot % 2 == 0 ? std::nanf("") : 1e38f);
        fixture.cache.WriteV(fixture.pages[0], head, slot, d,
                             slot % 3 == 0 ? std::nanf("") : INFINITY);
      }
    }
  }
  ops::WorkspaceNeeds needs;
  needs.head_dim = 64;
  for (const Target target : TestTargets()) {
    std::vector<float> out(fixture.expected.size());
    ops::AttentionArgs args = fixture.Args();
    args.out = out.data();
    RunOp(StateOpTable(target).attention, args, needs, {});
    for (const float value : out) ASSERT_TRUE(std::isfinite(value));
    ASSERT_TRUE(SameBits(fixture.expected, out)) << TargetName(target);
  }
}

// Scores that differ by more than exp can show, in both orders: later chunks win or vanish.
TEST(Attention, MergesChunksOfVeryDifferentScores) {
  for (const float factor : {60.0f, -60.0f, 1e30f}) {
    const Case test = {.type = ops::KvType::kF32, .sequences = {{2, 700}}};
    Fixture fixture(test);
    const int hd = test.shape.head_dim;
    std::vector<float> k(702 * hd), v(702 * hd);
    Random random(3);
    for (int slot = 0; slot < 702; ++slot) {
      for (int d = 0; d < hd; ++d) {
        const size_t i = size_t(slot) * hd + d;
        k[i] = fixture.q[d] * factor * float(slot / 256) * 0.1f;
        v[i] = random.Ordinary();
        for (int head = 0; head < 2; ++head) {
          fixture.cache.WriteK(fixture.pages[0], head, slot, d, k[i]);
          fixture.cache.WriteV(fixture.pages[0], head, slot, d, v[i]);
        }
      }
    }
    for (int row = 0; row < 2; ++row) {
      for (int head = 0; head < 4; ++head) {
        const size_t offset = (size_t(row) * 4 + head) * hd;
        reference::Attention(
            {fixture.q.data() + offset, k.data(), v.data(), fixture.gate.data() + 2 * offset + hd,
             hd, 0, 700 + row, fixture.scale},
            fixture.expected.data() + offset);
      }
    }
    ops::WorkspaceNeeds needs;
    needs.head_dim = hd;
    for (const Target target : TestTargets()) {
      std::vector<float> out(fixture.expected.size());
      ops::AttentionArgs args = fixture.Args();
      args.out = out.data();
      RunOp(StateOpTable(target).attention, args, needs, {});
      ASSERT_TRUE(SameBits(fixture.expected, out)) << TargetName(target) << " " << factor;
    }
  }
}

}  // namespace
}  // namespace verbatim::cpu
