// ServerMetrics: names, labels and values of the page. A real parser reads it in tests/http.
#include "serve/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace verbatim::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLabels = R"({engine="0",model_name="m"})";

std::string Line(const std::string& name, const std::string& value) {
  return "\n" + name + kLabels + " " + value + "\n";
}

TEST(ServerMetrics, CountsChoicesByPositionOnlyWhereTheyDrafted) {
  ServerMetrics metrics({}, "m");
  Request request;
  request.prompt_token_ids = {1, 2, 3};
  Result result;
  result.token_ids = {4, 5};
  result.speculation = {.rounds = 2, .drafted = 6, .tested = 3, .accepted = 2};
  result.speculation.accepted_at[1] = 2;
  result.speculation.drafted_at[0] = 1;
  metrics.CountChoice(request, result, {});
  EXPECT_THAT(metrics.Page({}, {}, 0),
              HasSubstr(Line("vllm:spec_decode_num_draft_tokens_total", "0")));
  request.speculation.kind = SpeculationKind::kMtp;
  metrics.CountChoice(request, result, {});
  const std::string page = metrics.Page({}, {}, 0);
  EXPECT_THAT(page, HasSubstr(Line("vllm:prompt_tokens_total", "6")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:generation_tokens_total", "4")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:spec_decode_num_drafts_total", "1")));
  EXPECT_THAT(page, HasSubstr(Line("verbatim:spec_decode_num_rounds_total", "2")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:spec_decode_num_draft_tokens_total", "6")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:spec_decode_num_accepted_tokens_total", "2")));
  EXPECT_THAT(
      page,
      HasSubstr(R"(accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 2)"));
  EXPECT_THAT(
      page,
      HasSubstr(R"(request_success_total{engine="0",finished_reason="stop",model_name="m"} 2)"));
}

TEST(ServerMetrics, FinishedReasonsHaveVllmsNamesAndAreThereFromTheStart) {
  ServerMetrics metrics({}, "m");
  const auto line = [](const std::string& reason, int count) {
    return "request_success_total{engine=\"0\",finished_reason=\"" + reason +
           "\",model_name=\"m\"} " + std::to_string(count) + "\n";
  };
  std::string page = metrics.Page({}, {}, 0);
  for (const char* reason : {"stop", "length", "abort"}) {
    EXPECT_THAT(page, HasSubstr(line(reason, 0)));
  }
  Result result;
  result.finish_reason = FinishReason::kCancelled;
  metrics.CountChoice({}, result, {});
  page = metrics.Page({}, {}, 0);
  EXPECT_THAT(page, HasSubstr(line("abort", 1)));
  EXPECT_THAT(page, Not(HasSubstr("cancelled\"")));
}

TEST(ServerMetrics, HistogramsOfRequests) {
  EngineInfo info;
  info.context = 40;
  ServerMetrics metrics(info, "m");
  Request request;
  request.prompt_token_ids = {1, 2, 3};
  request.max_tokens = 30;
  Result result;
  result.token_ids = {4, 5, 6, 7, 8};
  metrics.CountChoice(request, result, {.prefill = 0.5, .decode = 2});
  result.token_ids = {4};  // nothing behind the first: no time per token
  metrics.CountChoice(request, result, {.prefill = 0.5});
  const std::string page = metrics.Page({}, {}, 0);
  const auto expect = [&](const std::string& name, const std::string& sum, const std::string& n) {
    EXPECT_THAT(page, HasSubstr(Line("vllm:request_" + name + "_sum", sum)));
    EXPECT_THAT(page, HasSubstr(Line("vllm:request_" + name + "_count", n)));
  };
  expect("prompt_tokens", "6", "2");
  expect("generation_tokens", "6", "2");
  expect("params_max_tokens", "60", "2");
  expect("inference_time_seconds", "3", "2");
  expect("time_per_output_token_seconds", "0.5", "1");
  const auto bucket = [](const std::string& le, int count) {
    return "prompt_tokens_bucket{engine=\"0\",model_name=\"m\",le=\"" + le + "\"} " +
           std::to_string(count) + "\n";
  };
  EXPECT_THAT(page, HasSubstr(bucket("2", 0) + "vllm:request_" + bucket("5", 2)));
  EXPECT_THAT(page, HasSubstr(bucket("20", 2) + "vllm:request_" + bucket("+Inf", 2)));
}

TEST(ServerMetrics, FollowsWhatTheEngineCounts) {
  ServerMetrics metrics({}, "m");
  EngineStats engine;
  engine.running = 3;
  engine.kv_pages = 10;
  engine.kv_pages_used = 5;
  engine.preemptions = 2;
  engine.cache_hit_tokens = 100;
  EXPECT_THAT(metrics.Page(engine, {}, 0.25),
              HasSubstr(Line("verbatim:longest_step_seconds", "0.25")));
  engine.preemptions = 5;
  const std::string page = metrics.Page(engine, {.slow_readers_cut_total = 1}, 0);
  EXPECT_THAT(page, HasSubstr(Line("vllm:num_requests_running", "3")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:kv_cache_usage_perc", "0.5")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:num_preemptions_total", "5")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:prefix_cache_hits_total", "100")));
  EXPECT_THAT(page, HasSubstr(Line("verbatim:http_slow_readers_cut_total", "1")));
}

TEST(ServerMetrics, TellsTheContract) {
  EngineInfo info;
  info.contract_held = ContractMode::kOff;
  info.probe.verdict = ProbeVerdict::kLocalized;
  EXPECT_THAT(
      ServerMetrics(info, "m").Page({}, {}, 0),
      HasSubstr(
          R"(contract_exact{engine="0",held="off",mode="exact",model_name="m",verdict="localized"} 0)"));
  info.contract_held = ContractMode::kExact;
  EXPECT_THAT(ServerMetrics(info, "m").Page({}, {}, 0), HasSubstr(R"(verdict="localized"} 1)"));
}

}  // namespace
}  // namespace verbatim::serve
