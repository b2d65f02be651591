// The fields of the JSON objects, from results made up here. Not from an engine (tests/cli).
#include "apps/verbatim/json_output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace verbatim::cli {
namespace {

EngineInfo Info() {
  EngineInfo info;
  info.model_folder = "/models/x";
  info.target = "avx2";
  info.numerics = "portable-1/kv-f16";
  info.contract = ContractMode::kStrict;
  info.contract_held = ContractMode::kExact;
  info.contract_reason = "why";
  info.probe.verdict = ProbeVerdict::kLocalized;
  info.probe.op = "linear";
  info.probe.layer = 3;
  info.probe.differing_bytes = 5;
  info.probe.ms = 1.5;
  info.probe.budget_ms = 300;
  info.probe.linear_shapes = 7;
  info.probe.outputs_compared = 9;
  info.probe.rows_walked = 8;
  info.probe.layers_walked = 4;
  info.vocab_size = 1024;
  return info;
}

Result SomeResult() {
  Result result;
  result.token_ids = {5, 6, 7, 8, 9};
  result.text = "text";
  result.finish_reason = FinishReason::kLength;
  result.logits_sha256 = "abc";
  result.timings = {.prompt_ms = 10, .predicted_ms = 8};
  result.speculation.rounds = 2;
  result.speculation.drafted = 6;
  result.speculation.tested = 4;
  result.speculation.accepted = 2;
  result.speculation.drafted_at = {2, 2, 2};
  result.speculation.tested_at = {2, 2};
  result.speculation.accepted_at = {2};
  result.speculation.rounds_with_width[3] = 2;
  return result;
}

nlohmann::json Generated(const SpeculationOptions& speculation, const Result& result) {
  const std::vector<int32_t> prompt = {1, 2};
  return nlohmann::json::parse(
      GenerateJson(Info(), speculation, SamplingOptions(), prompt, result));
}

TEST(GenerateJsonTest, HasEveryField) {
  SpeculationOptions speculation;
  speculation.kind = SpeculationKind::kMtp;
  const nlohmann::json json = Generated(speculation, SomeResult());
  EXPECT_EQ(json["text"], "text");
  EXPECT_EQ(json["token_ids"], nlohmann::json({5, 6, 7, 8, 9}));
  EXPECT_EQ(json["prompt_token_ids"], nlohmann::json({1, 2}));
  EXPECT_EQ(json["finish_reason"], "length");
  EXPECT_FALSE(json.contains("matched_stop"));
  EXPECT_EQ(json["usage"],
            nlohmann::json::parse(R"({"prompt_tokens":2,"completion_tokens":5,"total_tokens":7})"));
  EXPECT_EQ(json["speculation"], nlohmann::json::parse(R"({"kind":"mtp","draft_tokens":3,
      "rounds":2,"drafted":6,"tested":4,"accepted":2,"drafted_at":[2,2,2],"tested_at":[2,2,0],
      "accepted_at":[2,0,0],"widths":{"4":2}})"));
  EXPECT_EQ(json["contract"],
            nlohmann::json::parse(R"({"mode":"strict","held":"exact","reason":"why","probe":
                {"verdict":"localized","op":"linear","layer":3,"differing_bytes":5,"ms":1.5,
                "budget_ms":300.0,"linear_shapes":7,"outputs_compared":9,"rows_walked":8,
                "layers_walked":4}})"));
  EXPECT_EQ(json["numerics"], nlohmann::json::parse(R"({"profile":"portable","version":1,
      "target":"avx2","kv_type":"f16"})"));
  EXPECT_EQ(json["logits_sha256"], "abc");
  EXPECT_EQ(json["model"]["path"], "/models/x");
}

TEST(GenerateJsonTest, TimingsCountTheTokensAfterTheFirst) {
  const nlohmann::json timings = Generated({}, SomeResult())["timings"];
  EXPECT_EQ(timings["prompt_n"], 2);
  EXPECT_DOUBLE_EQ(timings["prompt_per_token_ms"], 5.0);
  EXPECT_DOUBLE_EQ(timings["prompt_per_second"], 200.0);
  EXPECT_EQ(timings["predicted_n"], 5);
  EXPECT_DOUBLE_EQ(timings["predicted_per_token_ms"], 2.0);  // 8 ms for 4 tokens
  EXPECT_DOUBLE_EQ(timings["predicted_per_second"], 500.0);
  EXPECT_EQ(timings["draft_n"], 6);
  EXPECT_EQ(timings["draft_n_accepted"], 2);
}

TEST(GenerateJsonTest, WithoutDraftsOrTokens) {
  const nlohmann::json json = Generated({}, Result());
  EXPECT_FALSE(json["timings"].contains("draft_n"));
  EXPECT_EQ(json["timings"]["predicted_per_second"], 0.0);
  EXPECT_EQ(json["speculation"]["kind"], "off");
  EXPECT_EQ(json["speculation"]["draft_tokens"], 0);
  EXPECT_EQ(json["speculation"]["drafted_at"], nlohmann::json::array());
  EXPECT_EQ(json["speculation"]["widths"], nlohmann::json::object());
}

TEST(GenerateJsonTest, AutomaticWidthAndMatchedStop) {
  SpeculationOptions speculation;
  speculation.kind = SpeculationKind::kNgram;
  speculation.automatic = true;
  Result result = SomeResult();
  result.matched_stop = "\n";
  const nlohmann::json json = Generated(speculation, result);
  EXPECT_EQ(json["speculation"]["draft_tokens"], "auto");
  EXPECT_EQ(json["matched_stop"], "\n");
}

TEST(ScoreJsonTest, DraftsOnlyWhenAsked) {
  ScoreRequest request;
  request.token_ids = {1, 2, 3};
  ScoreResult result;
  result.logprobs = {-0.1f, -2.5f};
  result.perplexity = 3.5;
  result.drafts = {{{4, 5, 6}, {0.1f, 0.2f, 0.3f}}, {{7, 8, 9}, {1, 2, 3}}};
  EXPECT_FALSE(nlohmann::json::parse(ScoreJson(Info(), request, result)).contains("drafts"));
  request.drafts = true;
  const std::string text = ScoreJson(Info(), request, result);
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["token_ids"], nlohmann::json({1, 2, 3}));
  EXPECT_EQ(json["perplexity"], 3.5);
  EXPECT_EQ(json["drafts"]["ids"], nlohmann::json::parse("[[4,5,6],[7,8,9]]"));
  EXPECT_NE(text.find("\"logprobs\": [-0.1, -2.5]"), std::string::npos) << text;
  EXPECT_NE(text.find("[[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]]"), std::string::npos) << text;
}

}  // namespace
}  // namespace verbatim::cli
