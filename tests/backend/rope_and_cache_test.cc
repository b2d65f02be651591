// rope_and_cache equals the reference bit for bit on every target, and writes its own slots alone.
#include <span>
#include <vector>

#include "numerics/reference/norm.h"
#include "numerics/reference/rope.h"
#include "tests/backend/kv_cache_test_util.h"
#include "tests/backend/state_op_test_util.h"

namespace verbatim::cpu {
namespace {

constexpr float kEps = 1e-6f;

struct Shape {
  int num_heads, num_kv_heads, head_dim, rotary_dim;
};
constexpr Shape kNano = {4, 2, 64, 16};
constexpr Shape k27B = {24, 4, 256, 64};

struct Case {
  Shape shape = kNano;
  ops::KvType type = ops::KvType::kBF16;
  Inputs inputs = Inputs::kOrdinary;
  std::vector<int> rows;  // per sequence
  std::vector<int> first_slots;
};

void Check(const Case& test) {
  const auto [num_heads, num_kv_heads, hd, rd] = test.shape;
  Random random(hd + static_cast<int>(test.inputs));
  const ops::KvLayout layout = {num_kv_heads, hd, test.type};
  int num_rows = 0, positions = 0, num_pages = 0;
  for (size_t s = 0; s < test.rows.size(); ++s) {
    num_rows += test.rows[s];
    positions = std::max(positions, test.first_slots[s] + test.rows[s] + 1);
    num_pages += (test.first_slots[s] + test.rows[s] + 255) / 256;
  }
  // Queries and gates interleaved per head, as the model has them.
  const std::vector<float> q = random.Values(size_t(num_rows) * num_heads * 2 * hd, test.inputs);
  const std::vector<float> k = random.Values(size_t(num_rows) * num_kv_heads * hd, test.inputs);
  const std::vector<float> v = random.Values(size_t(num_rows) * num_kv_heads * hd, test.inputs);
  const std::vector<float> wq = random.Values(hd), wk = random.Values(hd);
  const std::vector<float> cos = random.Values(size_t(positions) * rd / 2);
  const std::vector<float> sin = random.Values(size_t(positions) * rd / 2);

  TestCache expected_cache(layout, num_pages);
  std::vector<std::vector<int32_t>> pages;
  std::vector<ops::SequenceRows> sequences;
  std::vector<float> expected_q(size_t(num_rows) * num_heads * hd);
  int row = 0;
  for (size_t s = 0; s < test.rows.size(); ++s) {
    pages.push_back(expected_cache.TakePages(test.first_slots[s] + test.rows[s]));
    ops::SequenceRows sequence;
    sequence.first_row = row;
    sequence.num_rows = sequence.num_certain = test.rows[s];
    sequence.first_slot = test.first_slots[s];
    sequence.first_position = test.first_slots[s] + 1;  // differs from the slot
    sequences.push_back(sequence);
    for (int index = 0; index < test.rows[s]; ++index, ++row) {
      const size_t table = size_t(sequence.first_position + index) * rd / 2;
      for (int head = 0; head < num_heads; ++head) {
        float* out = expected_q.data() + (size_t(row) * num_heads + head) * hd;
        reference::RmsNorm(q.data() + (size_t(row) * num_heads + head) * 2 * hd, wq.data(), hd,
                           kEps, out);
        reference::Rope(out, hd, rd, cos.data() + table, sin.data() + table, out);
      }
      for (int head = 0; head < num_kv_heads; ++head) {
        const size_t offset = (size_t(row) * num_kv_heads + head) * hd;
        std::vector<float> key(hd);
        reference::RmsNorm(k.data() + offset, wk.data(), hd, kEps, key.data());
        reference::Rope(key.data(), hd, rd, cos.data() + table, sin.data() + table, key.data());
        for (int d = 0; d < hd; ++d) {
          expected_cache.WriteK(pages[s], head, sequence.first_slot + index, d, key[d]);
          expected_cache.WriteV(pages[s], head, sequence.first_slot + index, d, v[offset + d]);
        }
      }
    }
  }
  for (size_t s = 0; s < pages.size(); ++s) sequences[s].pages = pages[s].data();

  ops::WorkspaceNeeds needs;
  needs.head_dim = hd;
  for (const Target target : TestTargets()) {
    const KernelTable table = StateOpTable(target);
    for (const RunPlan& plan : kRunPlans) {
      TestCache cache(layout, num_pages);
      std::vector<float> q_out(expected_q.size());
      ops::RopeAndCacheArgs args;
      args.step = {sequences, num_rows};
      args.q = q.data();
      args.q_stride = int64_t{num_heads} * 2 * hd;
      args.q_head_stride = 2 * hd;
      args.k = k.data();
      args.v = v.data();
      args.q_norm_weight = wq.data();
      args.k_norm_weight = wk.data();
      args.eps = kEps;
      args.num_heads = num_heads;
      args.rotary_dim = rd;
      args.cos_table = cos.data();
      args.sin_table = sin.data();
      args.cache = cache.view();
      args.q_out = q_out.data();
      RunOp(table.rope_and_cache, args, needs, plan);
      ASSERT_TRUE(SameBits(expected_q, q_out)) << TargetName(target);
      const size_t bytes = cache.memory().size();
      if (test.type == ops::KvType::kF32) {
        const auto floats = [&](const TestCache& c) {
          return std::span(reinterpret_cast<const float*>(c.memory().data()), bytes / 4);
        };
        ASSERT_TRUE(SameBits(floats(expected_cache), floats(cache))) << TargetName(target);
      } else {
        ASSERT_EQ(std::memcmp(expected_cache.memory().data(), cache.memory().data(), bytes), 0)
            << TargetName(target);
      }
    }
  }
}

constexpr ops::KvType kTypes[] = {ops::KvType::kBF16, ops::KvType::kF16, ops::KvType::kF32};

TEST(RopeAndCache, EqualsReferenceAtEveryRowCount) {
  for (const int rows : AllRowCounts()) {
    Check({.type = kTypes[rows % 3], .rows = {rows}, .first_slots = {rows % 7}});
  }
}

TEST(RopeAndCache, SequencesWriteTheirOwnSlots) {
  for (const ops::KvType type : kTypes) {
    Check({.type = type, .rows = {1, 16, 5, 3}, .first_slots = {0, 250, 255, 512}});
  }
}

TEST(RopeAndCache, EqualsReferenceOnHostileInputs) {
  for (const ops::KvType type : kTypes) {
    for (const Inputs inputs : kAllInputs) {
      Check({.type = type, .inputs = inputs, .rows = {20, 2}, .first_slots = {3, 300}});
    }
  }
}

TEST(RopeAndCache, EqualsReferenceOnOtherShapes) {
  Check({.shape = k27B, .rows = {4}, .first_slots = {254}});
  Check({.shape = {3, 3, 16, 16}, .rows = {4}, .first_slots = {0}});  // every channel rotates
  Check({.shape = {2, 1, 48, 34}, .rows = {4}, .first_slots = {0}});  // 17 pairs: a vector and one
}

// Every 16-bit value that a float can round to, ties included: v is copied and rounded.
TEST(RopeAndCache, RoundsLikeHalfHeader) {
  constexpr int kHeadDim = 256;
  Random random(7);
  const std::vector<float> ones(kHeadDim, 1.0f);
  for (const ops::KvType type : {ops::KvType::kBF16, ops::KvType::kF16}) {
    std::vector<float> v;
    for (uint32_t high = 0; high < 0x10000; high += 3) {
      for (const uint32_t low : {0u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu, 0x1000u, 0x0fffu}) {
        v.push_back(std::bit_cast<float>(high << 16 | low));
      }
    }
    const int rows = static_cast<int>(v.size()) / kHeadDim;
    v.resize(size_t(rows) * kHeadDim);
    const ops::KvLayout layout = {1, kHeadDim, type};
    const int num_pages = (rows + 255) / 256;
    TestCache expected(layout, num_pages);
    const std::vector<int32_t> pages = expected.TakePages(rows);
    for (int row = 0; row < rows; ++row) {
      for (int d = 0; d < kHeadDim; ++d) {
        expected.WriteV(pages, 0, row, d, v[size_t(row) * kHeadDim + d]);
        expected.WriteK(pages, 0, row, d, 0.0f);
      }
    }
    const std::vector<float> zeros(v.size());
    const std::vector<float> table_values(rows, 1.0f);
    ops::SequenceRows sequence;
    sequence.num_rows = sequence.num_certain = rows;
    sequence.pages = pages.data();
    for (const Target target : TestTargets()) {
      TestCache cache(layout, num_pages);
      std::vector<float> q_out(v.size());
      ops::RopeAndCacheArgs args;
      args.step = {std::span(&sequence, 1), rows};
      args.q = args.k = zeros.data();
      args.q_stride = kHeadDim;
      args.q_head_stride = kHeadDim;
      args.v = v.data();
      args.q_norm_weight = args.k_norm_weight = ones.data();
      args.eps = kEps;
      args.num_heads = 1;
      args.rotary_dim = 2;
      args.cos_table = table_values.data();
      args.sin_table = zeros.data();
      args.cache = cache.view();
      args.q_out = q_out.data();
      ops::WorkspaceNeeds needs;
      needs.head_dim = kHeadDim;
      RunOp(StateOpTable(target).rope_and_cache, args, needs, {});
      ASSERT_EQ(std::memcmp(expected.memory().data(), cache.memory().data(), cache.memory().size()),
                0)
          << TargetName(target);
    }
  }
}

}  // namespace
}  // namespace verbatim::cpu
