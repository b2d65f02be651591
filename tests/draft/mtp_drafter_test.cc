// The MTP head's cache stays in step: after any acceptance pattern its bytes equal those of a cold
// pass (numerics.md 11). Output never depends on it, acceptance does.
#include "draft/mtp_drafter.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/model_harness.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

constexpr int kTokens =
    300;  // crosses the page boundary of the head's cache, which lies one slot earlier

class MtpDrafterTest : public ::testing::Test {
 protected:
  MtpDrafterTest() : harness_(NanoModel(), {.context = 512, .with_mtp = true}) {
    drafter_ = *MtpDrafter::Create(
        *harness_.backend, *harness_.model, harness_.caches,
        {.max_rows = 256, .max_sequences = 2, .num_choosable = harness_.model->shape().vocab_size});
    const auto prompts = LoadPrompts(NanoModel());
    for (size_t p = 0; tokens_.size() < kTokens + 1; ++p) {
      tokens_.insert(tokens_.end(), prompts[p].ids.begin(), prompts[p].ids.end());
    }
    tokens_.resize(kTokens + 1);
  }

  // The head follows the target's last block, of which `num_rows` rows count.
  void Follow(SequenceState& state, int num_rows, int max_drafts) {
    std::vector<int32_t> drafts(16);
    DraftJob job = {.state = &state,
                    .tokens = tokens_,
                    .num_rows = num_rows,
                    .max_drafts = max_drafts,
                    .drafts = drafts.data()};
    drafter_->Propose({&job, 1}, harness_.model->hidden());
    EXPECT_EQ(job.num_drafts, max_drafts);
    EXPECT_EQ(state.num_draft_rows, state.num_consumed);
  }

  std::vector<std::byte> HeadKv(const SequenceState& state) {
    const int head_layer = harness_.model->shape().num_kv_layers - 1;
    const auto until = [&](int layers) {
      return harness_.ReadKv(state, layers, 1, state.num_draft_rows + 1);
    };
    const auto without = until(head_layer);
    auto all = until(head_layer + 1);
    all.erase(all.begin(), all.begin() + without.size());
    return all;
  }

  std::vector<std::byte> ColdPass() {
    SequenceState state = harness_.NewSequence(kTokens);
    for (int at = 0; at < kTokens; at += 100) {
      harness_.Run(state, std::span<const int32_t>(tokens_).subspan(at, 100));
      Follow(state, 100, 0);
    }
    const auto bytes = HeadKv(state);
    harness_.Release(state);
    return bytes;
  }

  ModelHarness harness_;
  std::unique_ptr<MtpDrafter> drafter_;
  std::vector<int32_t> tokens_;
};

TEST_F(MtpDrafterTest, CacheEqualsAColdPassAfterAnyAcceptancePattern) {
  const auto cold = ColdPass();
  ASSERT_FALSE(cold.empty());
  for (const uint32_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed);
    SequenceState state = harness_.NewSequence(kTokens + 16);
    harness_.Run(state, std::span<const int32_t>(tokens_).first(30));
    Follow(state, 30, 3);
    while (state.num_consumed < kTokens) {
      const int64_t at = state.num_consumed;
      const int left = static_cast<int>(kTokens - at);
      const int width = 1 + static_cast<int>(random() % 16);
      const int right = std::min<int>(static_cast<int>(random() % width), left - 1);
      std::vector<int32_t> block(tokens_.begin() + at, tokens_.begin() + at + right + 1);
      block.resize(width, 17);  // whatever was drafted behind the right ones
      harness_.Run(state, block, 1, right);
      Follow(state, right + 1, static_cast<int>(random() % 4));  // 0: a round without drafts
    }
    EXPECT_TRUE(HeadKv(state) == cold);
    harness_.Release(state);
  }
}

// A conversation's turn ends after any block, and the next one brings the token that the last row
// waits for.
TEST_F(MtpDrafterTest, CacheEqualsAColdPassAfterRowsThatWaited) {
  const auto cold = ColdPass();
  std::vector<float> hidden(harness_.model->shape().hidden_size);
  for (const int length : {1, 2, 7, 64, 100}) {
    SCOPED_TRACE(length);
    SequenceState state = harness_.NewSequence(kTokens);
    while (state.num_consumed < kTokens) {
      const int64_t at = state.num_consumed;
      const int count = static_cast<int>(std::min<int64_t>(length, kTokens - at));
      harness_.Run(state, std::span<const int32_t>(tokens_).subspan(at, count));
      harness_.backend->CopyToHost(hidden.data(),
                                   harness_.model->hidden() + (count - 1) * hidden.size(),
                                   hidden.size() * sizeof(float));
      DraftJob job = {
          .state = &state, .tokens = tokens_, .num_rows = count - 1, .last_row_waits = true};
      if (count > 1) drafter_->Propose({&job, 1}, harness_.model->hidden());
      EXPECT_EQ(state.num_draft_rows, state.num_consumed - 1);
      drafter_->AppendRow(state, tokens_[state.num_consumed], hidden.data());
      EXPECT_EQ(state.num_draft_rows, state.num_consumed);
    }
    EXPECT_TRUE(HeadKv(state) == cold);
    harness_.Release(state);
  }
}

// Two sequences drafted together propose what each proposes alone (vLLM #51812's class of fault).
TEST_F(MtpDrafterTest, SequencesDoNotSeeEachOther) {
  const auto run = [&](std::vector<std::pair<int, int>> ranges) {
    std::vector<SequenceState> states;
    std::vector<ops::SequenceRows> rows;
    std::vector<int32_t> ids;
    for (const auto& [begin, count] : ranges) {
      states.push_back(harness_.NewSequence(kTokens));
      rows.push_back({.first_row = static_cast<int>(ids.size()),
                      .num_rows = count,
                      .num_certain = count,
                      .pages = states.back().pages.data(),
                      .recurrent_slot = states.back().recurrent_slot});
      ids.insert(ids.end(), tokens_.begin() + begin, tokens_.begin() + begin + count);
    }
    harness_.model->Forward(ids, {.sequences = rows, .num_rows = static_cast<int>(ids.size())},
                            harness_.caches);
    std::vector<std::array<int32_t, 5>> drafts(ranges.size());
    std::vector<DraftJob> jobs;
    for (size_t i = 0; i < ranges.size(); ++i) {
      states[i].num_consumed = ranges[i].second;
      jobs.push_back({.state = &states[i],
                      .tokens = std::span<const int32_t>(tokens_).subspan(ranges[i].first),
                      .first_row = rows[i].first_row,
                      .num_rows = rows[i].num_rows,
                      .max_drafts = i == 0 ? 5 : 3,  // one goes on when the other has enough
                      .drafts = drafts[i].data()});
    }
    drafter_->Propose(jobs, harness_.model->hidden());
    std::vector<std::vector<int32_t>> result;
    for (size_t i = 0; i < jobs.size(); ++i) {
      result.emplace_back(drafts[i].begin(), drafts[i].begin() + jobs[i].num_drafts);
      harness_.Release(states[i]);
    }
    return result;
  };
  const auto together = run({{0, 40}, {100, 23}});
  ASSERT_EQ(together[0].size(), 5u);
  ASSERT_EQ(together[1].size(), 3u);
  EXPECT_EQ(run({{0, 40}})[0], together[0]);
  auto alone = run({{100, 23}})[0];
  alone.resize(3);
  EXPECT_EQ(alone, together[1]);
}

}  // namespace
}  // namespace verbatim::testing
