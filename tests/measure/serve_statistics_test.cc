// Statistics of served requests against figures worked out by hand. Not the serving.
#include "measure/serve_statistics.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

// Sent at 1 s; events after the given ms; ends 5 ms behind the last.
ServedRequest Request(int64_t index, std::vector<double> events_ms, int64_t tokens) {
  ServedRequest request = {.index = index, .due = 1, .sent = 1};
  for (const double ms : events_ms) request.event_times.push_back(1 + ms / 1000);
  request.ended = request.event_times.back() + 0.005;
  request.completion_tokens = tokens;
  request.text = "text";
  return request;
}

TEST(ServeStatistics, Percentiles) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Percentiles found = PercentilesOf(values);
  EXPECT_EQ(found.n, 101);
  EXPECT_EQ(found.mean, 50);
  EXPECT_EQ(found.p50, 50);
  EXPECT_DOUBLE_EQ(found.p90, 90);
  EXPECT_DOUBLE_EQ(found.p95, 95);
  EXPECT_DOUBLE_EQ(found.p99, 99);
  EXPECT_EQ(PercentilesOf({}).n, 0);
  EXPECT_EQ(PercentilesOf({3}).p99, 3);
}

TEST(ServeStatistics, OneRequest) {
  // Three events with seven tokens: bundles, as speculation makes them.
  const std::vector<ServedRequest> served = {Request(0, {20, 30, 50}, 7)};
  const ServeStatistics found = SummarizeServed(served, 2, {});
  EXPECT_NEAR(found.ttft_ms.p50, 20, 1e-9);
  EXPECT_EQ(found.inter_event_ms.n, 2);
  EXPECT_NEAR(found.inter_event_ms.mean, 15, 1e-9);
  EXPECT_NEAR(found.tpot_ms.p50, 30.0 / 6, 1e-9);
  EXPECT_NEAR(found.tokens_per_event.p50, 7.0 / 3, 1e-9);
  EXPECT_NEAR(found.e2e_ms.p50, 55, 1e-9);
  EXPECT_NEAR(found.tokens_per_s(), 3.5, 1e-9);
  EXPECT_NEAR(found.requests_per_s(), 0.5, 1e-9);
  EXPECT_TRUE(found.tokens_told);
  EXPECT_FALSE(found.good);
  EXPECT_FALSE(found.drafts);
  EXPECT_FALSE(found.cached_tokens);
}

TEST(ServeStatistics, WithoutUsageEventsStandForTokens) {
  const std::vector<ServedRequest> served = {Request(0, {20, 30, 50}, 0)};
  const ServeStatistics found = SummarizeServed(served, 1, {});
  EXPECT_EQ(found.completion_tokens, 3);
  EXPECT_NEAR(found.tpot_ms.p50, 15, 1e-9);
  EXPECT_FALSE(found.tokens_told);
}

TEST(ServeStatistics, OneTokenHasNoTimePerToken) {
  const std::vector<ServedRequest> served = {Request(0, {20}, 1)};
  EXPECT_EQ(SummarizeServed(served, 1, {}).tpot_ms.n, 0);
}

TEST(ServeStatistics, ErrorsAreCountedByKindAndTimeNothing) {
  ServedRequest refused = {.index = 1, .due = 1, .sent = 1, .ended = 9};
  refused.error = "status 429";
  refused.error_message = "queue full";
  ServedRequest cut = refused;
  cut.error = "cut short";
  const std::vector<ServedRequest> served = {Request(0, {20, 30}, 2), refused, cut, refused};
  const ServeStatistics found = SummarizeServed(served, 1, {.ttft_ms = 1000});
  EXPECT_EQ(found.requests, 4);
  EXPECT_EQ(found.succeeded, 1);
  EXPECT_EQ(found.errors, (std::map<std::string, int64_t>{{"cut short", 1}, {"status 429", 2}}));
  EXPECT_EQ(found.first_error, "queue full");
  EXPECT_EQ(found.e2e_ms.n, 1);
  EXPECT_EQ(found.good, 1);
}

TEST(ServeStatistics, Goodput) {
  const std::vector<ServedRequest> served = {Request(0, {20, 30}, 2), Request(1, {60, 70}, 2),
                                             Request(2, {20, 90}, 2)};
  const auto good = [&](const ServiceLevel& level) {
    return SummarizeServed(served, 2, level).good;
  };
  EXPECT_EQ(good({.ttft_ms = 50}), 2);
  EXPECT_EQ(good({.tpot_ms = 50}), 2);
  EXPECT_EQ(good({.ttft_ms = 50, .tpot_ms = 50}), 1);
  EXPECT_EQ(good({.e2e_ms = 80}), 2);
  EXPECT_NEAR(SummarizeServed(served, 2, {.ttft_ms = 50}).good_per_s(), 1, 1e-9);
}

TEST(ServeStatistics, ServiceLevels) {
  const auto level = ParseServiceLevel("ttft:200,tpot:30.5", "--slo");
  ASSERT_TRUE(level.ok());
  EXPECT_EQ(level->ttft_ms, 200);
  EXPECT_EQ(level->tpot_ms, 30.5);
  EXPECT_FALSE(level->e2e_ms);
  for (const std::string_view bad :
       {"", "ttft", "ttft:", "ttft:x", "ttft:-1", "ttft:0", "ttft:1,", "ttft:1,ttft:2", "itl:3",
        "ttft:1e3", "ttft:nan", "ttft:1ms"}) {
    EXPECT_EQ(ParseServiceLevel(bad, "--slo").status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

TEST(ServeStatistics, CountsOfSpeculationAndCacheAddUp) {
  ServedRequest a = Request(0, {20, 30}, 2);
  a.drafts = DraftCounts{.drafted = 10, .accepted = 7};
  a.tested_at = {5, 4};
  a.accepted_at = {4, 3};
  a.cached_tokens = 100;
  a.prompt_tokens = 120;
  ServedRequest b = a;
  b.tested_at = {5, 4, 3};
  b.accepted_at = {5, 4, 1};
  const std::vector<ServedRequest> served = {a, b, Request(2, {20, 30}, 2)};
  const ServeStatistics found = SummarizeServed(served, 1, {});
  EXPECT_EQ(found.drafts->drafted, 20);
  EXPECT_EQ(found.drafts->accepted, 14);
  EXPECT_EQ(found.tested_at, (std::vector<int64_t>{10, 8, 3}));
  EXPECT_EQ(found.accepted_at, (std::vector<int64_t>{9, 7, 1}));
  EXPECT_EQ(found.cached_tokens, 200);
  EXPECT_EQ(found.prompt_tokens, 240);
}

TEST(ServeComparison, EqualAnswersInAnyOrder) {
  const std::vector<ServedRequest> a = {Request(0, {20}, 1), Request(1, {20}, 1)};
  const std::vector<ServedRequest> b = {a[1], a[0]};
  const ServedComparison found = CompareServed(a, b);
  EXPECT_EQ(found.compared, 2);
  EXPECT_TRUE(found.comparable());
}

TEST(ServeComparison, TheFirstDifferenceInTheTraceIsNamed) {
  std::vector<ServedRequest> a, b;
  for (const int64_t index : {2, 0, 1}) {
    a.push_back(Request(index, {20}, 1));
    b.push_back(a.back());
  }
  b[0].text = "tex!";
  b[2].text = "te";  // of request 1
  a[2].tool_calls = "x()";
  const ServedComparison found = CompareServed(a, b);
  EXPECT_EQ(found.differing, 2);
  ASSERT_TRUE(found.first);
  EXPECT_EQ(found.first->index, 1);
  EXPECT_EQ(found.first->what, "text");
  EXPECT_EQ(found.first->position, 2);
  EXPECT_EQ(found.first->a, "xt");
  EXPECT_EQ(found.first->b, "");
  EXPECT_FALSE(found.comparable());
}

TEST(ServeComparison, ExcerptsAreWholeCharacters) {
  std::vector<ServedRequest> a = {Request(0, {20}, 1)}, b = a;
  a[0].text = "ä";  // C3 A4
  b[0].text = "ö";  // C3 B6
  const ServedComparison found = CompareServed(a, b);
  EXPECT_EQ(found.first->position, 1);
  EXPECT_EQ(found.first->a, "ä");
  EXPECT_EQ(found.first->b, "ö");
}

TEST(ServeComparison, WhatFailedIsNotEqual) {
  const std::vector<ServedRequest> a = {Request(0, {20}, 1), Request(1, {20}, 1)};
  std::vector<ServedRequest> b = a;
  b[1].error = "connection";
  EXPECT_EQ(CompareServed(a, b).not_compared, 1);
  EXPECT_FALSE(CompareServed(a, b).comparable());
  b.pop_back();
  EXPECT_FALSE(CompareServed(a, b).comparable());
  EXPECT_FALSE(CompareServed(b, a).comparable());
  EXPECT_FALSE(CompareServed({}, {}).comparable());
}

}  // namespace
}  // namespace verbatim
