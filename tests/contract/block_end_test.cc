// Everything that can end a request, at every offset inside an accepted block: the result is what
// classic decode gives, and nothing after the end leaks into text, ids, counts or state.
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

constexpr char kPrompt[] = "Once upon a time there was a little girl who lived in a";

class BlockEndTest : public ::testing::Test {
 protected:
  static Engine& TheEngine() {
    static const std::unique_ptr<Engine> engine = [] {
      auto loaded = Engine::Load(
          {.model = TinyQuantizedModel().string(), .with_mtp = true, .context = kContext});
      if (!loaded.ok()) std::fprintf(stderr, "%s\n", loaded.status().message().c_str());
      return *std::move(loaded);
    }();
    return *engine;
  }

  static Request BaseRequest(int64_t max_tokens) {
    Request request;
    request.prompt_token_ids = *TheEngine().Tokenize(kPrompt);
    request.max_tokens = max_tokens;
    request.logits_digest = true;
    return request;
  }

  // Runs with classic decode and with several drafters and compares all that a client can see.
  static Result ExpectSame(Request request) {
    request.speculation = {};
    const Result classic = *TheEngine().Generate(request);
    Request long_run = request;  // what would come after the end
    long_run.ignore_eos = true;
    long_run.stop.clear();
    long_run.max_tokens = static_cast<int64_t>(classic.token_ids.size()) + kMaxDraftTokens;
    const std::vector<int32_t> future = TheEngine().Generate(long_run)->token_ids;
    std::vector<SpeculationOptions> speculations = {
        {.kind = SpeculationKind::kMtp, .draft_tokens = 3},
        {.kind = SpeculationKind::kMtp, .draft_tokens = 15},
        {.kind = SpeculationKind::kNgram, .draft_tokens = 6},
        {.kind = SpeculationKind::kWrong, .draft_tokens = 5}};
    // Right drafts far beyond the end: the block always holds what must not leak.
    for (const int width : {1, 2, 5, 15}) {
      speculations.push_back(
          {.kind = SpeculationKind::kReplay, .draft_tokens = width, .replay = future});
    }
    for (const SpeculationOptions& speculation : speculations) {
      static int turn = 0;
      if (turn++ % Sampled(1, 3) != 0) continue;  // coprime to their count: each gets its turn
      SCOPED_TRACE(::testing::Message()
                   << SpeculationKindName(speculation.kind) << " " << speculation.draft_tokens);
      request.speculation = speculation;
      std::vector<int32_t> streamed_ids;
      std::string streamed_text;
      request.on_token = [&](const TokenEvent& event) {
        streamed_ids.push_back(event.token_id);
        streamed_text += event.text;
      };
      const Result result = *TheEngine().Generate(request);
      EXPECT_EQ(result.token_ids, classic.token_ids);
      EXPECT_EQ(result.text, classic.text);
      EXPECT_EQ(result.logits_sha256, classic.logits_sha256);
      EXPECT_EQ(result.finish_reason, classic.finish_reason);
      EXPECT_EQ(result.matched_stop, classic.matched_stop);
      EXPECT_EQ(streamed_ids, classic.token_ids);
      EXPECT_EQ(streamed_text, classic.text);
      EXPECT_LE(result.speculation.accepted, static_cast<int64_t>(classic.token_ids.size()));
      EXPECT_LE(result.speculation.accepted, result.speculation.tested);
      EXPECT_LE(result.speculation.tested, result.speculation.drafted);
    }
    return classic;
  }

  static constexpr int64_t kContext = 128;
};

TEST_F(BlockEndTest, MaxTokensAtEveryOffset) {
  for (int64_t max_tokens = 1; max_tokens <= 20; max_tokens += Sampled(1, 4)) {
    SCOPED_TRACE(max_tokens);
    const Result result = ExpectSame(BaseRequest(max_tokens));
    EXPECT_EQ(result.finish_reason, FinishReason::kLength);
    EXPECT_EQ(static_cast<int64_t>(result.token_ids.size()), max_tokens);
  }
}

TEST_F(BlockEndTest, ContextLimit) {
  // Prompts of every length up to the limit, so that the end falls anywhere inside a block.
  const std::vector<int32_t> base = *TheEngine().Tokenize(kPrompt);
  for (int64_t length = kContext - 18; length < kContext; length += Sampled(1, 8)) {
    SCOPED_TRACE(length);
    Request request = BaseRequest(1000);
    request.ignore_eos = true;
    request.prompt_token_ids.clear();
    for (int64_t i = 0; i < length; ++i) request.prompt_token_ids.push_back(base[i % base.size()]);
    const Result result = ExpectSame(request);
    EXPECT_EQ(result.finish_reason, FinishReason::kLength);
    EXPECT_EQ(length + static_cast<int64_t>(result.token_ids.size()), kContext);
  }
}

TEST_F(BlockEndTest, StopStringAtEveryOffsetAndAcrossTokens) {
  const Result base = *TheEngine().Generate(BaseRequest(40));
  ASSERT_GT(base.text.size(), 60u);
  for (size_t begin = 1; begin < 40; begin += Sampled(3, 18)) {
    for (const size_t length : {1u, 6u}) {
      Request request = BaseRequest(60);
      request.stop = {base.text.substr(begin, length), "never in the text"};
      SCOPED_TRACE(request.stop[0]);
      const Result result = ExpectSame(request);
      EXPECT_EQ(result.finish_reason, FinishReason::kStop);
      EXPECT_EQ(result.matched_stop, request.stop[0]);
      EXPECT_EQ(result.text, base.text.substr(0, base.text.find(request.stop[0])));
    }
  }
}

// vLLM and others leaked tokens after an end token inside an accepted run (qwen3_5.md pitfall 47).
TEST_F(BlockEndTest, EndOfSequenceInsideABlock) {
  Request request;
  request.max_tokens = 100;
  request.logits_digest = true;
  int ended_by_eos = 0;
  int turn = 0;
  for (const char* question : {"What does the `stat` command do on macOS?",
                               "Show the directory for library files with `pg_config`."}) {
    request.prompt_token_ids = *TheEngine().Tokenize(std::string("<|im_start|>user\n") + question +
                                                     "<|im_end|>\n<|im_start|>assistant\n");
    request.speculation = {};
    Request run_on = request;
    run_on.ignore_eos = true;
    const std::vector<int32_t> future = TheEngine().Generate(run_on)->token_ids;
    const Result classic = *TheEngine().Generate(request);
    ended_by_eos += classic.finish_reason == FinishReason::kStop;
    EXPECT_EQ(classic.text.find("<|im_end|>"), std::string::npos);
    for (int width = 1; width <= kMaxDraftTokens; ++width) {
      for (const SpeculationKind kind : {SpeculationKind::kMtp, SpeculationKind::kReplay}) {
        if (turn++ % Sampled(1, 11) != 0) continue;  // coprime to the counts of all three axes
        request.speculation = {.kind = kind, .draft_tokens = width, .replay = future};
        const Result result = *TheEngine().Generate(request);
        EXPECT_EQ(result.token_ids, classic.token_ids);
        EXPECT_EQ(result.text, classic.text);
        EXPECT_EQ(result.logits_sha256, classic.logits_sha256);
        EXPECT_EQ(result.finish_reason, classic.finish_reason);
      }
    }
  }
  EXPECT_EQ(ended_by_eos, 2);
}

TEST_F(BlockEndTest, CancelInsideABlockKeepsWhatWasEmitted) {
  const Result classic = *TheEngine().Generate(BaseRequest(30));
  for (int after = 1; after <= 9; ++after) {
    Request request = BaseRequest(30);
    request.speculation = {
        .kind = SpeculationKind::kReplay, .draft_tokens = 15, .replay = classic.token_ids};
    RequestId id = 0;
    int seen = 0;
    request.on_token = [&](const TokenEvent& event) {
      if (++seen == after) {
        const std::string text(event.text);
        EXPECT_TRUE(TheEngine().Cancel(id).ok());
        EXPECT_EQ(event.text, text);  // good until the callback returns
      }
    };
    id = *TheEngine().Submit(request);
    while (TheEngine().Step()) {
    }
    const Result result = *TheEngine().TakeResult(id);
    EXPECT_EQ(result.finish_reason, FinishReason::kCancelled);
    EXPECT_EQ(result.token_ids,
              std::vector<int32_t>(classic.token_ids.begin(), classic.token_ids.begin() + after));
  }
}

TEST_F(BlockEndTest, BadRequestsAreRefusedByName) {
  const auto refusal = [](const Request& request) {
    return TheEngine().Submit(request).status().message();
  };
  Request request = BaseRequest(10);
  request.prompt_token_ids = {};
  EXPECT_NE(refusal(request).find("[prompt]"), std::string::npos);
  request = BaseRequest(10);
  request.prompt_token_ids = {-1};
  EXPECT_NE(refusal(request).find("token ids"), std::string::npos);
  request.prompt_token_ids = std::vector<int32_t>(kContext, 1);
  EXPECT_NE(refusal(request).find("context"), std::string::npos);
  EXPECT_NE(refusal(BaseRequest(0)).find("[max_tokens]"), std::string::npos);
  request = BaseRequest(10);
  request.stop = {""};
  EXPECT_FALSE(TheEngine().Submit(request).ok());
  request = BaseRequest(10);
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 16};
  EXPECT_NE(refusal(request).find("[draft_tokens]"), std::string::npos);
}

}  // namespace
}  // namespace verbatim::testing
