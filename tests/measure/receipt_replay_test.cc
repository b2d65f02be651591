// The replay of receipts: what is equal, and how each difference is named. Not their file
// (receipt_test.cc).
#include <gtest/gtest.h>

#include <functional>

#include "measure/receipt.h"
#include "tests/measure/receipt_test_util.h"

namespace verbatim::testing {
namespace {

ReplayOutcome Replay(const Receipt& receipt, const std::string& target = "scalar") {
  EngineOptions options = ReplayOptions(receipt, NanoModel().string());
  options.num_threads = 1;
  options.target = target;
  const auto engine = Engine::Load(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_TRUE(CompareIdentity(receipt, NanoIdentity(), (*engine)->info()).empty());
  const auto outcome = ReplayReceipt(**engine, receipt, "r.json");
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : ReplayOutcome();
}

ReplayDifference Difference(const Receipt& receipt) {
  const ReplayOutcome outcome = Replay(receipt, "");
  EXPECT_TRUE(outcome.difference.has_value());
  return outcome.difference.value_or(ReplayDifference());
}

TEST(ReceiptReplay, ReplayOfSpeculationWithNeighboursAndSamplingIsEqual) {
  // Two requests at once, each in blocks of eight rows, two threads, the best instruction set.
  Engine& engine = MakersEngine();
  std::vector<RequestId> ids;
  std::vector<Request> requests = {SampledRequest(), GreedyRequest()};
  for (const Request& request : requests) ids.push_back(*engine.Submit(request));
  while (engine.Step()) {
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto result = engine.TakeResult(ids[i]);
    ASSERT_TRUE(result.ok());
    EXPECT_GT(result->speculation.accepted, 0);
    const auto receipt = MakeReceipt(engine.info(), NanoIdentity(), requests[i], *result);
    ASSERT_TRUE(receipt.ok());
    const ReplayOutcome outcome = Replay(Parsed(ReceiptJson(*receipt)));
    EXPECT_FALSE(outcome.difference.has_value());
    EXPECT_EQ(outcome.positions_equal, static_cast<int64_t>(result->token_ids.size()));
  }
}

TEST(ReceiptReplay, ReplayOfEveryKindOfEndIsEqual) {
  Request request = GreedyRequest();
  request.max_tokens = 1;
  EXPECT_FALSE(Replay(Make(request)).difference.has_value());
  request = GreedyRequest();
  request.max_tokens = 1'000'000;  // ends with the context
  const Receipt full = Make(request);
  EXPECT_EQ(full.token_ids.size(), 253U);
  EXPECT_FALSE(Replay(full, "").difference.has_value());
  // At a stop string: what the third token says.
  const auto text = MakersEngine().Detokenize(std::span(full.token_ids).subspan(2, 1));
  ASSERT_TRUE(text.ok() && !text->empty());
  request.stop = {*text};
  const Receipt stopped = Make(request);
  EXPECT_EQ(stopped.finish_reason, FinishReason::kStop);
  EXPECT_LE(stopped.token_ids.size(), 3U);
  EXPECT_FALSE(Replay(stopped).difference.has_value());
}

TEST(ReceiptReplay, AConstraintIsPartOfWhatIsReplayed) {
  const Receipt& receipt = ConstrainedReceipt();
  // It did something, and began only behind its mark.
  EXPECT_EQ(receipt.token_ids[0], GreedyReceipt().token_ids[0]);
  EXPECT_NE(receipt.token_ids, GreedyReceipt().token_ids);
  EXPECT_FALSE(Replay(Parsed(ReceiptJson(receipt))).difference.has_value());
  Receipt edited = receipt;
  edited.constraint = {};
  EXPECT_EQ(Difference(edited).kind, ReplayDifference::Kind::kToken);
  edited = receipt;
  edited.constraint.text = "[0-9]+";
  EXPECT_EQ(Difference(edited).kind, ReplayDifference::Kind::kToken);
  EXPECT_EQ(Difference(edited).position, 1);
}

TEST(ReceiptReplay, ReplayNamesTheFirstDifferingPositionAndHow) {
  using Kind = ReplayDifference::Kind;
  Receipt receipt = GreedyReceipt();
  const int32_t token = receipt.token_ids[9];
  receipt.token_ids[9] = token + 1;
  ReplayDifference difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kToken);
  EXPECT_EQ(difference.position, 9);
  EXPECT_EQ(difference.receipt_token, token + 1);
  EXPECT_EQ(difference.replay_token, token);

  receipt = GreedyReceipt();
  receipt.position_digests[4] = "0000000000000000";
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kLogits);
  EXPECT_EQ(difference.position, 4);
  EXPECT_EQ(difference.replay_says, GreedyReceipt().position_digests[4]);

  receipt = GreedyReceipt();
  receipt.logits_sha256.back() = receipt.logits_sha256.back() == '0' ? '1' : '0';
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kLogits);
  EXPECT_EQ(difference.position, 23);

  receipt = GreedyReceipt();
  receipt.prompt_token_ids[1] = 77;
  difference = Difference(receipt);
  EXPECT_TRUE(difference.kind == Kind::kLogits || difference.kind == Kind::kTokenAndLogits);
  EXPECT_EQ(difference.position, 0);

  receipt = GreedyReceipt();
  receipt.token_ids.resize(20);
  receipt.position_digests.resize(20);
  receipt.logits_sha256 = receipt.position_digests.back() + receipt.logits_sha256.substr(16);
  // The full digest of position 19 is not in the receipt: a cut one shows there already.
  EXPECT_EQ(Difference(receipt).position, 19);

  receipt = GreedyReceipt();
  receipt.finish_reason = FinishReason::kStop;
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kFinishReason);
  EXPECT_EQ(difference.receipt_says, "stop");
  EXPECT_EQ(difference.replay_says, "length");

  receipt = GreedyReceipt();
  receipt.max_tokens = 23;
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kReplayEnds);
  EXPECT_EQ(difference.position, 23);

  receipt = GreedyReceipt();
  receipt.max_tokens = 25;
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kReplayGoesOn);
  EXPECT_EQ(difference.position, 24);
  EXPECT_FALSE(difference.receipt_token.has_value());

  receipt = GreedyReceipt();
  for (int32_t id = 0; id < 1024; ++id) receipt.sampling.banned_token_ids.push_back(id);
  EXPECT_EQ(Difference(receipt).kind, Kind::kReplayFails);
}

TEST(ReceiptReplay, ChangedSamplingParametersLeadToAnotherChoice) {
  const std::vector<std::function<void(SamplingOptions&)>> changes = {
      [](SamplingOptions& sampling) { sampling.seed += 1; },
      [](SamplingOptions& sampling) { sampling.choice += 1; },
      [](SamplingOptions& sampling) { sampling.temperature = 0; },
      [](SamplingOptions& sampling) { sampling.logit_bias = {{3, 100}}; },
      [](SamplingOptions& sampling) {
        sampling.banned_token_ids = {SampledReceipt().token_ids[0]};
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    Receipt receipt = SampledReceipt();
    changes[i](receipt.sampling);
    EXPECT_EQ(Difference(receipt).kind, ReplayDifference::Kind::kToken);
  }
}

TEST(ReceiptReplay, ARequestThatTheModelRefusesIsAnError) {
  const auto engine = Engine::Load(ReplayOptions(GreedyReceipt(), NanoModel().string()));
  ASSERT_TRUE(engine.ok());
  Receipt receipt = GreedyReceipt();
  receipt.sampling.top_p = 7;
  const auto outcome = ReplayReceipt(**engine, receipt, "r.json");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(outcome.status().message().find("[r.json]"), std::string::npos);
  EXPECT_NE(outcome.status().message().find("top_p"), std::string::npos);
  const auto stopped =
      ReplayReceipt(**engine, GreedyReceipt(), "r.json", [](int64_t tokens) { return tokens < 5; });
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(stopped->cancelled);
}

TEST(ReceiptReplay, MismatchesAreNamed) {
  const EngineInfo& info = MakersEngine().info();
  EXPECT_TRUE(CompareIdentity(GreedyReceipt(), NanoIdentity(), info).empty());
  Receipt receipt = GreedyReceipt();
  receipt.model.model_sha256[0] ^= 1;
  receipt.model.config_sha256[0] ^= 1;
  receipt.model.tokenizer_sha256[0] ^= 1;
  receipt.numerics_version = 2;
  receipt.eos_token_ids = {1};
  std::vector<std::string> names;
  for (const auto& mismatch : CompareIdentity(receipt, NanoIdentity(), info)) {
    names.push_back(mismatch.what);
    EXPECT_NE(mismatch.in_receipt, mismatch.here);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"weights", "config", "tokenizer", "numerics",
                                             "eos_token_ids"}));
}

}  // namespace
}  // namespace verbatim::testing
