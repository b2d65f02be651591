// RecurrentCache: slots are zeroed when taken, run out with a clear error, and read back in logical
// order.
#include "state/recurrent_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/cpu_backend.h"

namespace verbatim {
namespace {

constexpr ops::RecurrentLayout kLayout = {.num_key_heads = 1,
                                          .num_value_heads = 2,
                                          .key_head_dim = 4,
                                          .value_head_dim = 32,
                                          .max_drafts = 2};

class RecurrentCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<ops::Backend> backend_ =
      *cpu::CreateCpuBackend({.num_threads = 1, .target = "scalar"});
  std::unique_ptr<RecurrentCache> cache_ = *RecurrentCache::Create(*backend_, 2, kLayout, 2);
};

TEST_F(RecurrentCacheTest, SlotsRunOutAndComeBackZeroed) {
  const int first = *cache_->Acquire();
  const int second = *cache_->Acquire();
  EXPECT_NE(first, second);
  EXPECT_EQ(cache_->Acquire().status().code(), StatusCode::kResourceExhausted);
  std::fill_n(cache_->View(1).slots + first * kLayout.slot_floats(), kLayout.slot_floats(), 3.0f);
  cache_->Release(first);
  EXPECT_EQ(*cache_->Acquire(), first);
  const std::vector<float> state = cache_->Read(1, first);
  EXPECT_TRUE(std::all_of(state.begin(), state.end(), [](float x) { return x == 0; }));
}

TEST_F(RecurrentCacheTest, ReadsInLogicalOrder) {
  const int slot = *cache_->Acquire();
  float* raw = cache_->View(0).slots + slot * kLayout.slot_floats();
  for (int head = 0; head < 2; ++head) {
    for (int k = 0; k < 4; ++k) {
      for (int v = 0; v < 32; ++v) {
        raw[kLayout.StateOffset(head, k, v)] = static_cast<float>(head * 1000 + k * 100 + v);
      }
    }
  }
  const std::vector<float> state = cache_->Read(0, slot);
  ASSERT_EQ(state.size(), kLayout.state_floats() + 3 * kLayout.conv_dim());
  EXPECT_EQ(state[0], 0);
  EXPECT_EQ(state[33], 101);            // head 0, k 1, v 1
  EXPECT_EQ(state[4 * 32 + 31], 1031);  // head 1, k 0, v 31
}

TEST_F(RecurrentCacheTest, FoldAppliesTheAcceptedRecordsOnly) {
  const int slot = *cache_->Acquire();
  float* raw = cache_->View(0).slots + slot * kLayout.slot_floats();
  // One record with khat = 1, d = 2, e = 0.5 on S = 4: S becomes fma(1, 2, 4 * 0.5) = 4; two of
  // them leave 4.
  std::fill_n(raw, kLayout.state_floats(), 4.0f);
  std::fill_n(raw + kLayout.key_records_offset(), 2 * kLayout.key_dim(), 1.0f);
  std::fill_n(raw + kLayout.delta_records_offset(), kLayout.value_dim(), 6.0f);
  std::fill_n(raw + kLayout.delta_records_offset() + kLayout.value_dim(), kLayout.value_dim(),
              2.0f);
  std::fill_n(raw + kLayout.decay_records_offset(), 2 * kLayout.num_value_heads, 0.5f);
  cache_->Fold(slot, 0);
  EXPECT_EQ(cache_->Read(0, slot)[5], 4.0f);
  cache_->Fold(slot, 1);
  EXPECT_EQ(cache_->Read(0, slot)[5], 8.0f);
  EXPECT_EQ(cache_->Read(1, slot)[5], 0.0f);  // the other layer had no records
}

}  // namespace
}  // namespace verbatim
