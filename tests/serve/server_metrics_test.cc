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
  metrics.CountChoice(request, result, {});
  EXPECT_THAT(metrics.Page({}, {}, 0),
              HasSubstr(Line("vllm:spec_decode_num_draft_tokens_total", "0")));
  request.speculation.kind = SpeculationKind::kMtp;
  metrics.CountChoice(request, result, {});
  const std::string page = metrics.Page({}, {}, 0);
  EXPECT_THAT(page, HasSubstr(Line("vllm:prompt_tokens_total", "6")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:generation_tokens_total", "4")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:spec_decode_num_draft_tokens_total", "6")));
  EXPECT_THAT(page, HasSubstr(Line("vllm:spec_decode_num_accepted_tokens_total", "2")));
  EXPECT_THAT(
      page,
      HasSubstr(R"(accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 2)"));
  EXPECT_THAT(
      page,
      HasSubstr(R"(request_success_total{engine="0",finished_reason="stop",model_name="m"} 2)"));
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
