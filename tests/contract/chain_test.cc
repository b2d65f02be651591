// The chain tests that this project began with: any way of cutting a token sequence into blocks,
// with any pattern of accepted and rejected drafts, against the chain of single tokens. Logits, KV
// and recurrent state, byte for byte.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "tests/support/model_harness.h"
#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

// Together they cross the chunk boundary at slot 256.
constexpr int kPromptTokens = Sampled(40, 230);
constexpr int kChainTokens = Sampled(240, 50);

// What a way of running the sequence leaves behind.
struct Trace {
  ModelHarness::Logits logits;  // of every chain position
  std::vector<std::byte> kv;
  std::vector<float> recurrent;
};

void ExpectSameBytes(const Trace& chain, const Trace& other) {
  ASSERT_EQ(chain.logits.size(), other.logits.size());
  for (size_t i = 0; i < chain.logits.size(); ++i) {
    ASSERT_EQ(std::memcmp(chain.logits[i].data(), other.logits[i].data(),
                          chain.logits[i].size() * sizeof(float)),
              0)
        << "logits of chain position " << i;
  }
  EXPECT_TRUE(chain.kv == other.kv) << "KV bytes";
  ASSERT_EQ(chain.recurrent.size(), other.recurrent.size());
  EXPECT_EQ(std::memcmp(chain.recurrent.data(), other.recurrent.data(),
                        chain.recurrent.size() * sizeof(float)),
            0)
      << "recurrent state bytes";
}

// A loaded model, the tokens of the sequence, and what the chain of single tokens leaves behind.
struct ChainFixture {
  explicit ChainFixture(const std::filesystem::path& folder)
      : harness(folder, {.num_threads = 2, .context = 512}) {
    const auto prompts = LoadPrompts(folder);
    for (size_t p = 0; tokens.size() < kPromptTokens + kChainTokens; ++p) {
      tokens.insert(tokens.end(), prompts[p].ids.begin(), prompts[p].ids.end());
    }
    tokens.resize(kPromptTokens + kChainTokens);
  }
  ModelHarness harness;
  std::vector<int32_t> tokens;
  Trace chain;
};

class ChainTest : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  ChainTest()
      : fixture_(Fixture(GetParam())), harness_(fixture_.harness), tokens_(fixture_.tokens) {
    if (!fixture_.chain.logits.empty()) return;
    SequenceState state = Start();
    for (int i = kPromptTokens; i < static_cast<int>(tokens_.size()); ++i) {
      fixture_.chain.logits.push_back(std::move(harness_.Run(state, Tokens(i, 1))[0]));
    }
    Finish(state, fixture_.chain);
  }

  static ChainFixture& Fixture(const std::filesystem::path& folder) {
    static std::map<std::filesystem::path, std::unique_ptr<ChainFixture>> fixtures;
    auto& fixture = fixtures[folder];
    if (fixture == nullptr) fixture = std::make_unique<ChainFixture>(folder);
    return *fixture;
  }

  std::span<const int32_t> Tokens(int first, int count) const {
    return std::span<const int32_t>(tokens_).subspan(first, count);
  }

  SequenceState Start() {
    SequenceState state = harness_.NewSequence(tokens_.size() + 16);
    harness_.Run(state, Tokens(0, kPromptTokens));
    return state;
  }

  void Finish(SequenceState& state, Trace& trace) {
    const int num_layers = harness_.model->shape().num_kv_layers;
    trace.kv = harness_.ReadKv(state, num_layers, 0, state.num_consumed);
    trace.recurrent = harness_.ReadRecurrent(state);
    harness_.Release(state);
  }

  // Verification blocks: one certain row, `width - 1` drafts of which accepted(round) are right.
  template <typename AcceptedFn>
  Trace RunBlocks(int width, AcceptedFn accepted) {
    Trace trace;
    SequenceState state = Start();
    const int end = static_cast<int>(tokens_.size());
    for (int at = kPromptTokens, round = 0; at < end; ++round) {
      std::vector<int32_t> block(Tokens(at, std::min(width, end - at)).begin(),
                                 Tokens(at, std::min(width, end - at)).end());
      const int right = std::min<int>(accepted(round), static_cast<int>(block.size()) - 1);
      block.resize(width, 0);
      for (int i = right + 1; i < width; ++i) {
        const int32_t vocab = static_cast<int32_t>(harness_.model->shape().vocab_size);
        block[i] = (block[i] + 1 + 7 * i + round) % vocab;  // some other token
      }
      auto logits = harness_.Run(state, block, 1, right);
      for (int i = 0; i <= right; ++i) trace.logits.push_back(std::move(logits[i]));
      at += right + 1;
    }
    Finish(state, trace);
    return trace;
  }

  ChainFixture& fixture_;
  ModelHarness& harness_;
  const std::vector<int32_t>& tokens_;
};

TEST_P(ChainTest, BlocksOfCertainRowsEqualTheChain) {
  for (const int width : {2, 3, 5, 8, 16, 61, kChainTokens}) {
    SCOPED_TRACE(width);
    Trace trace;
    SequenceState state = Start();
    for (int at = kPromptTokens; at < static_cast<int>(tokens_.size()); at += width) {
      const int count = std::min<int>(width, static_cast<int>(tokens_.size()) - at);
      for (auto& row : harness_.Run(state, Tokens(at, count)))
        trace.logits.push_back(std::move(row));
    }
    Finish(state, trace);
    ExpectSameBytes(fixture_.chain, trace);
  }
}

TEST_P(ChainTest, DraftsAllRightEqualTheChain) {
  for (const int width : {2, 3, 4, 5, 6, 8, 9, 12, 16}) {
    SCOPED_TRACE(width);
    ExpectSameBytes(fixture_.chain, RunBlocks(width, [&](int) { return width - 1; }));
  }
}

TEST_P(ChainTest, DraftsAllRejectedEqualTheChain) {
  for (const int width : {2, 3, 4, 8, 9, 16}) {
    SCOPED_TRACE(width);
    ExpectSameBytes(fixture_.chain, RunBlocks(width, [](int) { return 0; }));
  }
}

TEST_P(ChainTest, RandomAcceptanceEqualsTheChain) {
  for (const int width : {2, 4, 7, 16}) {
    for (const uint32_t seed : {1u, 2u, 3u}) {
      SCOPED_TRACE(::testing::Message() << "width " << width << " seed " << seed);
      std::minstd_rand random(seed);
      ExpectSameBytes(fixture_.chain, RunBlocks(width, [&](int) { return int(random() % width); }));
    }
  }
}

// vLLM #52942: a step without drafts right after accepted ones read a stale state.
TEST_P(ChainTest, AlternatingFullAndEmptyRoundsEqualTheChain) {
  Trace trace;
  SequenceState state = Start();
  const int end = static_cast<int>(tokens_.size());
  for (int at = kPromptTokens, round = 0; at < end; ++round) {
    const int count = std::min(round % 2 == 0 ? 4 : 1, end - at);
    for (auto& row : harness_.Run(state, Tokens(at, count), 1, count - 1)) {
      trace.logits.push_back(std::move(row));
    }
    at += count;
  }
  Finish(state, trace);
  ExpectSameBytes(fixture_.chain, trace);
}

TEST_P(ChainTest, PrefillInAnyChunksEqualsTheChain) {
  for (const int chunk : {1, 7, kPromptTokens - 1, kPromptTokens}) {
    SCOPED_TRACE(chunk);
    SequenceState cut = harness_.NewSequence(tokens_.size() + 16);
    for (int at = 0; at < kPromptTokens; at += chunk) {
      harness_.Run(cut, Tokens(at, std::min(chunk, kPromptTokens - at)));
    }
    Trace trace;
    for (int i = kPromptTokens; i < static_cast<int>(tokens_.size()); ++i) {
      trace.logits.push_back(std::move(harness_.Run(cut, Tokens(i, 1))[0]));
    }
    Finish(cut, trace);
    ExpectSameBytes(fixture_.chain, trace);
  }
}

// The test can fail: one right draft counted as rejected, or a wrong one as accepted, changes the
// bytes.
TEST_P(ChainTest, AWrongAcceptanceIsSeen) {
  Trace trace;
  SequenceState state = Start();
  const std::vector<int32_t> wrong = {tokens_[kPromptTokens], tokens_[kPromptTokens + 1] ^ 1};
  harness_.Run(state, wrong, 1, 1);
  Finish(state, trace);
  Trace right;
  SequenceState other = Start();
  harness_.Run(other, Tokens(kPromptTokens, 2), 1, 1);
  Finish(other, right);
  EXPECT_FALSE(trace.kv == right.kv);
  EXPECT_NE(std::memcmp(trace.recurrent.data(), right.recurrent.data(),
                        trace.recurrent.size() * sizeof(float)),
            0);
}

INSTANTIATE_TEST_SUITE_P(Models, ChainTest, ::testing::Values(NanoModel(), TinyQuantizedModel()),
                         [](const auto& param) { return param.index == 0 ? "Nano" : "Tiny4Bit"; });

}  // namespace
}  // namespace verbatim::testing
