// PrefixCache: the longest prefix is found, its state comes back bit for bit and is not written by
// who shares it, and what is longest unused goes first.
#include "state/prefix_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "backend/cpu/cpu_backend.h"

namespace verbatim {
namespace {

constexpr ops::KvLayout kKvLayout = {.num_kv_heads = 1, .head_dim = 16, .type = ops::KvType::kBF16};
constexpr ops::RecurrentLayout kRecurrentLayout = {.num_key_heads = 1,
                                                   .num_value_heads = 1,
                                                   .key_head_dim = 4,
                                                   .value_head_dim = 16,
                                                   .max_drafts = 2};
constexpr int64_t kHidden = 16;

using Ids = std::vector<int32_t>;

Ids Tokens(int64_t count, int32_t first = 0) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

class PrefixCacheTest : public ::testing::Test {
 protected:
  explicit PrefixCacheTest(int num_pages = 12, int max_entries = 4) {
    kv_ = *KvCache::Create(*backend_, 2, kKvLayout, num_pages);
    recurrent_ = *RecurrentCache::Create(*backend_, 2, kRecurrentLayout, max_entries + 2);
    cache_ = *PrefixCache::Create(
        *backend_, *kv_, *recurrent_,
        {.max_bytes = int64_t{1} << 30, .max_entries = max_entries, .hidden_size = kHidden});
  }

  // A sequence that has consumed `tokens`, with bytes in every slot that tell it apart.
  SequenceState Sequence(const Ids& tokens, int mark) {
    SequenceState state;
    state.recurrent_slot = *recurrent_->Acquire();
    EXPECT_TRUE(kv_->Grow(static_cast<int64_t>(tokens.size()), state.pages).ok());
    state.num_consumed = static_cast<int64_t>(tokens.size());
    for (int layer = 0; layer < 2; ++layer) {
      for (const int32_t page : state.pages) FillPage(layer, page, mark);
      std::fill_n(
          recurrent_->View(layer).slots + state.recurrent_slot * kRecurrentLayout.slot_floats(),
          kRecurrentLayout.key_records_offset(), static_cast<float>(mark + layer));
    }
    return state;
  }
  void FillPage(int layer, int32_t page, int mark) {
    std::memset(kv_->View(layer).pages + page * kKvLayout.page_bytes(), mark + layer,
                kKvLayout.page_bytes());
  }
  void ExpectState(const SequenceState& state, int mark) {
    for (int layer = 0; layer < 2; ++layer) {
      for (const int32_t page : state.pages) {
        const std::byte* bytes = kv_->View(layer).pages + page * kKvLayout.page_bytes();
        EXPECT_EQ(bytes[0], static_cast<std::byte>(mark + layer)) << page;
        EXPECT_EQ(std::memcmp(bytes, bytes + 1, kKvLayout.page_bytes() - 1), 0) << page;
      }
      for (const float x : recurrent_->Read(layer, state.recurrent_slot)) {
        ASSERT_EQ(x, static_cast<float>(mark + layer));
      }
    }
  }
  bool Insert(const Ids& tokens, int mark, bool draft_rows = true) {
    SequenceState state = Sequence(tokens, mark);
    const std::vector<float> hidden(kHidden, static_cast<float>(mark));
    const auto size = static_cast<int64_t>(tokens.size());
    const bool inserted = cache_->Insert(tokens, state, hidden.data(), draft_rows ? size - 1 : 0);
    Release(state);
    return inserted;
  }
  void Release(SequenceState& state) {
    kv_->Release(state.pages);
    recurrent_->Release(state.recurrent_slot);
  }
  SequenceState Empty() {
    SequenceState state;
    state.recurrent_slot = *recurrent_->Acquire();
    return state;
  }

  std::unique_ptr<ops::Backend> backend_ =
      *cpu::CreateCpuBackend({.num_threads = 1, .target = "scalar"});
  std::unique_ptr<KvCache> kv_;
  std::unique_ptr<RecurrentCache> recurrent_;
  std::unique_ptr<PrefixCache> cache_;
};

TEST_F(PrefixCacheTest, FindsTheLongestProperPrefix) {
  ASSERT_TRUE(Insert(Tokens(5), 1));
  ASSERT_TRUE(Insert(Tokens(300), 2));
  const auto length = [&](const Ids& prompt) {
    const auto* entry = cache_->Find(prompt, true);
    return entry == nullptr ? 0 : static_cast<int64_t>(entry->tokens.size());
  };
  EXPECT_EQ(length(Tokens(301)), 300);
  EXPECT_EQ(length(Tokens(300)), 5);  // one token at least must be left to compute
  EXPECT_EQ(length(Tokens(6)), 5);
  EXPECT_EQ(length(Tokens(5)), 0);
  EXPECT_EQ(length(Tokens(400, 1)), 0);
  Ids parts = Tokens(400);
  parts[200] = 7;
  EXPECT_EQ(length(parts), 5);
}

TEST_F(PrefixCacheTest, RestoresTheBytesAndSharesFullPages) {
  const Ids tokens = Tokens(300);
  ASSERT_TRUE(Insert(tokens, 3));
  const int before = kv_->num_free_pages();
  SequenceState state = Empty();
  const auto* entry = cache_->Find(Tokens(400), true);
  ASSERT_NE(entry, nullptr);
  ASSERT_TRUE(cache_->Restore(*entry, state).ok());
  EXPECT_EQ(state.num_consumed, 300);
  EXPECT_EQ(state.num_draft_rows, 299);
  ExpectState(state, 3);
  EXPECT_EQ(*cache_->Hidden(*entry), 3.0F);
  EXPECT_EQ(kv_->num_free_pages(), before - 1);  // the copy of the page that is not full
  EXPECT_EQ(state.pages[0], entry->pages[0]);
  EXPECT_NE(state.pages[1], entry->pages[1]);
  // What the sequence writes behind its prefix is not in the entry.
  for (int layer = 0; layer < 2; ++layer) FillPage(layer, state.pages[1], 99);
  SequenceState second = Empty();
  ASSERT_TRUE(cache_->Restore(*entry, second).ok());
  ExpectState(second, 3);
  // An entry may go while its pages are in use.
  cache_->Clear();
  kv_->Release(state.pages);
  ExpectState(second, 3);
  Release(second);
  EXPECT_EQ(kv_->num_free_pages(), 12);
}

TEST_F(PrefixCacheTest, ASequenceGoesOnWritingBehindWhatItGave) {
  const Ids tokens = Tokens(100);
  SequenceState state = Sequence(tokens, 4);
  const std::vector<float> hidden(kHidden, 4.0F);
  ASSERT_TRUE(cache_->Insert(tokens, state, hidden.data(), 99));
  for (int layer = 0; layer < 2; ++layer) FillPage(layer, state.pages[0], 99);
  SequenceState other = Empty();
  ASSERT_TRUE(cache_->Restore(*cache_->Find(Tokens(101), true), other).ok());
  ExpectState(other, 4);
}

TEST_F(PrefixCacheTest, EvictsWhatIsLongestUnused) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Insert(Tokens(20, 1000 * i), i));
  ASSERT_NE(cache_->Find(Tokens(30, 0), true), nullptr);  // used again
  ASSERT_TRUE(Insert(Tokens(20, 9000), 9));
  EXPECT_NE(cache_->Find(Tokens(30, 0), true), nullptr);
  EXPECT_EQ(cache_->Find(Tokens(30, 1000), true), nullptr);
  EXPECT_EQ(cache_->stats().evictions, 1);
  EXPECT_EQ(cache_->stats().entries, 4);
}

TEST_F(PrefixCacheTest, PagesThatRunOutEvictAndThenRefuse) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Insert(Tokens(20, 1000 * i), i));
  SequenceState state = Empty();
  ASSERT_TRUE(kv_->Grow(8 * ops::kPageSlots, state.pages).ok());  // all but the entries' pages
  const Ids tokens = Tokens(20, 5000);
  const std::vector<float> hidden(kHidden, 5.0F);
  EXPECT_TRUE(cache_->Insert(tokens, state, hidden.data(), 19));  // in place of an older one
  while (cache_->EvictOldest(nullptr)) {
  }
  ASSERT_TRUE(kv_->Grow(12 * ops::kPageSlots, state.pages).ok());
  EXPECT_FALSE(cache_->Insert(tokens, state, hidden.data(), 19));
  EXPECT_EQ(cache_->stats().entries, 0);
  Release(state);
  EXPECT_EQ(kv_->num_free_pages(), 12);
}

TEST_F(PrefixCacheTest, NoPageForTheCopyLeavesTheSequenceAsItWas) {
  ASSERT_TRUE(Insert(Tokens(300), 3));
  std::vector<int32_t> rest;
  ASSERT_TRUE(kv_->Grow(10 * ops::kPageSlots, rest).ok());
  SequenceState state = Empty();
  const auto* entry = cache_->Find(Tokens(400), true);
  EXPECT_EQ(cache_->Restore(*entry, state).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(state.pages.empty());
  EXPECT_EQ(state.num_consumed, 0);
}

TEST_F(PrefixCacheTest, DraftRowsAreThereForWhoNeedsThem) {
  ASSERT_TRUE(Insert(Tokens(50), 1, false));
  EXPECT_NE(cache_->Find(Tokens(60), false), nullptr);
  EXPECT_EQ(cache_->Find(Tokens(60), true), nullptr);
  ASSERT_TRUE(Insert(Tokens(50), 2, true));  // in place of the one without
  EXPECT_EQ(cache_->stats().entries, 1);
  ASSERT_NE(cache_->Find(Tokens(60), true), nullptr);
  ASSERT_TRUE(Insert(Tokens(50), 3, false));  // nothing new
  EXPECT_EQ(*cache_->Hidden(*cache_->Find(Tokens(60), true)), 2.0F);
}

TEST_F(PrefixCacheTest, TellsWhatEvictingWouldFree) {
  SequenceState state = Sequence(Tokens(600), 1);
  const float hidden[kHidden] = {};
  ASSERT_TRUE(cache_->Insert(Tokens(600), state, hidden, 0));  // two of its pages, one of its own
  ASSERT_TRUE(Insert(Tokens(300, 5000), 2));                   // two
  const PrefixCache::Entry* second = cache_->Find(Tokens(400, 5000), false);
  EXPECT_EQ(cache_->FreeablePages(nullptr), 3);
  EXPECT_EQ(cache_->FreeablePages(second), 1);
  kv_->Release(state.pages);
  EXPECT_EQ(cache_->FreeablePages(nullptr), 5);
  const int before = kv_->num_free_pages();
  cache_->Clear();
  EXPECT_EQ(kv_->num_free_pages(), before + 5);
}

TEST_F(PrefixCacheTest, KeepsWithinItsBytes) {
  const int64_t state_bytes = PrefixCache::StateBytes(*recurrent_, kHidden);
  cache_ = *PrefixCache::Create(*backend_, *kv_, *recurrent_,
                                {.max_bytes = 2 * (state_bytes + kv_->page_bytes()),
                                 .max_entries = 4,
                                 .hidden_size = kHidden});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Insert(Tokens(20, 1000 * i), i));
  EXPECT_EQ(cache_->stats().entries, 2);
  EXPECT_LE(cache_->stats().bytes, 2 * (state_bytes + kv_->page_bytes()));
  EXPECT_FALSE(Insert(Tokens(1000), 9));  // four pages: nothing else goes for what can't stay
  EXPECT_EQ(cache_->stats().entries, 2);
  cache_->Clear();
  EXPECT_EQ(kv_->num_free_pages(), 12);
}

}  // namespace
}  // namespace verbatim
