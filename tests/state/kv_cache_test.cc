// KvCache: page tables grow all or nothing, and pages come back.
#include "state/kv_cache.h"

#include <gtest/gtest.h>

#include <set>

#include "backend/cpu/cpu_backend.h"
#include "state/sequence_state.h"

namespace verbatim {
namespace {

constexpr ops::KvLayout kLayout = {.num_kv_heads = 2, .head_dim = 16, .type = ops::KvType::kBF16};

class KvCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<ops::Backend> backend_ =
      *cpu::CreateCpuBackend({.num_threads = 1, .target = "scalar"});
  std::unique_ptr<KvCache> cache_ = *KvCache::Create(*backend_, 3, kLayout, 4);
};

TEST_F(KvCacheTest, GrowsByWholePagesAndKeepsWhatIsThere) {
  std::vector<int32_t> pages;
  ASSERT_TRUE(cache_->Grow(1, pages).ok());
  EXPECT_EQ(pages.size(), 1u);
  const int32_t first = pages[0];
  ASSERT_TRUE(cache_->Grow(256, pages).ok());
  EXPECT_EQ(pages.size(), 1u);
  ASSERT_TRUE(cache_->Grow(257, pages).ok());
  EXPECT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0], first);
  EXPECT_EQ(cache_->num_free_pages(), 2);
}

TEST_F(KvCacheTest, PagesBelongToOneSequenceAndComeBack) {
  std::vector<int32_t> a, b;
  ASSERT_TRUE(cache_->Grow(500, a).ok());
  ASSERT_TRUE(cache_->Grow(500, b).ok());
  std::set<int32_t> all(a.begin(), a.end());
  all.insert(b.begin(), b.end());
  EXPECT_EQ(all.size(), 4u);
  cache_->Release(a);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(cache_->num_free_pages(), 2);
  EXPECT_TRUE(cache_->Grow(512, a).ok());
}

TEST_F(KvCacheTest, AllOrNothingWhenPagesRunOut) {
  std::vector<int32_t> a, b;
  ASSERT_TRUE(cache_->Grow(3 * 256, a).ok());
  const Status status = cache_->Grow(2 * 256, b);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("2 free pages"), std::string::npos);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(cache_->num_free_pages(), 1);
}

TEST_F(KvCacheTest, ASlotWithoutAPageIsABrokenInvariant) {
  SequenceState state;
  ASSERT_TRUE(cache_->Grow(256, state.pages).ok());
  EXPECT_EQ(state.PagesFor(256), state.pages.data());
  EXPECT_DEATH(state.PagesFor(257), "broken invariant");
}

TEST_F(KvCacheTest, EveryElementOfAPageHasAPlaceOfItsOwn) {
  for (const ops::KvType type : {ops::KvType::kBF16, ops::KvType::kF32}) {
    const ops::KvLayout layout = {.num_kv_heads = 2, .head_dim = 32, .type = type};
    std::set<size_t> places;
    for (int head = 0; head < 2; ++head) {
      for (int slot = 0; slot < ops::kPageSlots; ++slot) {
        for (int d = 0; d < 32; ++d) {
          places.insert(layout.KOffset(head, slot, d));
          places.insert(layout.VOffset(head, slot, d));
        }
      }
    }
    EXPECT_EQ(places.size(), layout.page_bytes() / layout.element_bytes());
    EXPECT_EQ(*places.rbegin(), places.size() - 1);
  }
}

}  // namespace
}  // namespace verbatim
