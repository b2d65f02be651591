// RunServeBench over a server that is a clock and a rule: who is asked what and when, and what
// events mean. Not sockets (tests/cli/test_bench_serve.py).
#include "measure/serve_bench.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <utility>

#include "measure/sse_parser.h"

namespace verbatim {
namespace {

using nlohmann::json;

// What has been asked of all servers of a test, and how they answer.
struct World {
  double now = 1;  // seconds; one clock for all
  double first_s = 0.1, token_s = 0.02;
  int running = 0, most_running = 0;
  std::vector<std::pair<std::string, json>> asked;  // host, body
  std::vector<double> asked_at;
  std::function<std::string(const std::string& host, const json& body)> answer =
      [](const std::string&, const json& body) {
        return fmt::format("to {}", body["messages"].back()["content"].get<std::string>());
      };
  std::function<HttpResponse(const json& body)> refuse;  // status 200: not refused
};

std::string Event(const json& value) { return fmt::format("data: {}\n\n", value.dump()); }

// Answers take first_s, then token_s for each letter, which is a token.
class FakeStreams : public HttpStreams {
 public:
  FakeStreams(World& world, std::string host) : world_(world), host_(std::move(host)) {}

  double Now() const override { return world_.now; }
  void At(double at, std::function<void()> call) override { calls_.emplace(at, std::move(call)); }
  void Send(HttpRequest request, OnBytes on_bytes, OnEnd on_end) override {
    const json body = json::parse(request.body);
    world_.asked.emplace_back(host_, body);
    world_.asked_at.push_back(world_.now);
    world_.most_running = std::max(world_.most_running, ++world_.running);
    double at = world_.now + world_.first_s;
    if (world_.refuse) {
      const HttpResponse refusal = world_.refuse(body);
      if (refusal.status != 200) {
        return At(at, [this, on_end, refusal] { Finish(on_end, refusal); });
      }
    }
    const std::string text = world_.answer(host_, body);
    for (const char letter : text) {
      const std::string event =
          Event({{"choices", {{{"delta", {{"content", std::string(1, letter)}}}}}}});
      At(at, [on_bytes, event] { on_bytes(event); });
      at += world_.token_s;
    }
    const std::string end =
        Event({{"choices", json::array()},
               {"usage", {{"prompt_tokens", 9}, {"completion_tokens", text.size()}}}}) +
        "data: [DONE]\n\n";
    At(at, [this, on_bytes, on_end, end] {
      on_bytes(end);
      Finish(on_end, {.status = 200});
    });
  }
  Status Run() override {
    while (!calls_.empty()) {
      auto first = calls_.extract(calls_.begin());
      world_.now = std::max(world_.now, first.key());
      first.mapped()();
    }
    return {};
  }

 private:
  void Finish(const OnEnd& on_end, const HttpResponse& response) {
    --world_.running;
    on_end(response);
  }

  World& world_;
  std::string host_;
  std::multimap<double, std::function<void()>> calls_;
};

// /v1/models, and counters that grow by ten drafts with each look.
class FakeClient : public HttpClient {
 public:
  explicit FakeClient(bool metrics) : metrics_(metrics) {}
  Expected<HttpResponse> Send(const HttpRequest& request) override {
    static int looks = 0;
    if (request.path == "/v1/models") {
      return HttpResponse{.status = 200, .body = R"({"data": [{"id": "fake-1"}]})"};
    }
    if (!metrics_) return HttpResponse{.status = 404};
    ++looks;
    return HttpResponse{.status = 200,
                        .body = fmt::format("vllm:spec_decode_num_draft_tokens_total {}\n"
                                            "vllm:spec_decode_num_accepted_tokens_total {}\n",
                                            10 * looks, 6 * looks)};
  }

 private:
  bool metrics_;
};

ServeBenchOptions Options(World& world, bool metrics = false) {
  ServeBenchOptions options = {.arms = {{.name = "one", .url = {.host = "a"}}}};
  options.trace.requests = 12;
  for (int i = 0; i < 12; ++i) options.prompts.push_back({.text = fmt::format("p{}", i)});
  options.make_streams = [&world](const HttpUrl& url, const HttpOptions&) {
    return std::make_unique<FakeStreams>(world, url.host);
  };
  options.make_client = [metrics](const HttpUrl&, const HttpOptions&) {
    return std::make_unique<FakeClient>(metrics);
  };
  return options;
}

TEST(ServeBench, ClosedLoopKeepsSoManyRunning) {
  for (const int concurrency : {1, 4, 64}) {
    World world;
    ServeBenchOptions options = Options(world);
    options.concurrency = concurrency;
    const auto report = RunServeBench(options);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(world.most_running, std::min(concurrency, 12));
    const ServeStatistics& found = report->arms[0].statistics;
    EXPECT_EQ(found.succeeded, 12);
    EXPECT_NEAR(found.ttft_ms.p50, 100, 1e-6);
    EXPECT_NEAR(found.inter_event_ms.p99, 20, 1e-6);
    EXPECT_NEAR(found.tpot_ms.p50, 20, 1e-6);
    EXPECT_NEAR(found.tokens_per_event.mean, 1, 1e-9);
    EXPECT_EQ(found.late_ms.p99, 0);
  }
}

TEST(ServeBench, OpenLoopSendsWhenTheTraceSays) {
  World world;
  ServeBenchOptions options = Options(world);
  options.concurrency = 0;
  options.trace.rate = 50;
  const auto report = RunServeBench(options);
  ASSERT_TRUE(report.ok());
  const auto trace = MakeTrace(options.trace, options.prompts);
  ASSERT_EQ(world.asked_at.size(), trace.size());
  for (size_t i = 0; i < trace.size(); ++i) {
    EXPECT_NEAR(world.asked_at[i], 1 + trace[i].at_s, 1e-9);
    EXPECT_EQ(world.asked[i].second["messages"][0]["content"], trace[i].text);
  }
  EXPECT_GT(world.most_running, 1);
}

TEST(ServeBench, ABoundMakesOpenLoopLateAndSaysSo) {
  World world;
  ServeBenchOptions options = Options(world);
  options.concurrency = 1;
  options.trace.rate = 50;
  const auto report = RunServeBench(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(world.most_running, 1);
  EXPECT_GT(report->arms[0].statistics.late_ms.p99, 100);
  EXPECT_NEAR(report->arms[0].statistics.ttft_ms.p50, 100, 1e-6);  // from the sending
}

TEST(ServeBench, ClosedLoopEndsWithTheDuration) {
  World world;
  ServeBenchOptions options = Options(world);
  options.trace.duration_s = 0.5;
  const auto report = RunServeBench(options);
  ASSERT_TRUE(report.ok());
  // 0.1 s and five letters of 0.02 s each.
  EXPECT_EQ(report->arms[0].statistics.requests, 3);
  EXPECT_EQ(report->arms[0].statistics.succeeded, 3);
}

TEST(ServeBench, BodiesSayWhatIsAsked) {
  World world;
  ServeBenchOptions options = Options(world);
  options.trace = {.requests = 1, .seed = 5};
  options.max_tokens = 17;
  options.arms[0].fields = R"({"speculation": "off", "temperature": 0.5})";
  ASSERT_TRUE(RunServeBench(options).ok());
  json body = world.asked[0].second;
  body.erase("messages");
  EXPECT_EQ(body,
            json::parse(R"({"model": "fake-1", "max_tokens": 17, "temperature": 0.5, "seed": 5,
      "stream": true, "stream_options": {"include_usage": true}, "speculation": "off"})"));
}

TEST(ServeBench, TwoArmsTakeTurnsOverOneTrace) {
  World world;
  ServeBenchOptions options = Options(world);
  options.arms.push_back({.name = "two", .url = {.host = "b"}});
  options.rounds = 2;
  const auto report = RunServeBench(options);
  ASSERT_TRUE(report.ok());
  std::string order;
  for (const auto& [host, body] : world.asked) order += host;
  EXPECT_EQ(order,
            "aaaaaabbbbbb"
            "bbbbbbaaaaaa");
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(world.asked[i].second, world.asked[6 + i].second);
    EXPECT_EQ(world.asked[12 + i].second, world.asked[18 + i].second);
  }
  ASSERT_TRUE(report->comparison);
  EXPECT_EQ(report->comparison->compared, 12);
  EXPECT_TRUE(report->comparison->comparable());
}

TEST(ServeBench, OneSlowRoundMovesATotalButNoMedian) {
  World world;
  world.answer = [&world](const std::string& host, const json&) {
    world.token_s = host == "a" ? 0.5 : 1.0;
    if (world.asked.size() == 1) world.token_s = 100;
    return std::string("four");
  };
  ServeBenchOptions options = Options(world);
  options.arms.push_back({.name = "two", .url = {.host = "b"}});
  options.concurrency = 1;
  options.rounds = 6;
  const auto report = RunServeBench(options);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->arms[0].round_rates.size(), 6u);
  ASSERT_EQ(report->arms[1].round_rates.size(), 6u);
  const double fast = report->arms[0].round_rates[1];
  EXPECT_LT(report->arms[0].round_rates[0], fast / 10);
  EXPECT_EQ(report->round_ratio.count, 6);
  EXPECT_GT(report->round_ratio.median, 1.0);
  EXPECT_NEAR(report->round_ratio.median, fast / report->arms[1].round_rates[1], 1e-9);
  EXPECT_LT(report->arms[0].statistics.tokens_per_s(), report->arms[1].statistics.tokens_per_s());
}

TEST(ServeBench, OneOtherLetterIsADifference) {
  World world;
  world.answer = [](const std::string& host, const json& body) {
    const std::string asked = body["messages"].back()["content"];
    return asked == "p7" && host == "b" ? std::string("to q7") : fmt::format("to {}", asked);
  };
  ServeBenchOptions options = Options(world);
  options.arms.push_back({.name = "two", .url = {.host = "b"}});
  const auto report = RunServeBench(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->comparison->differing, 1);
  EXPECT_EQ(report->comparison->first->position, 3);
  EXPECT_FALSE(report->comparison->comparable());
}

TEST(ServeBench, RefusalsAreCountedInTheServersWords) {
  World world;
  world.refuse = [](const json& body) -> HttpResponse {
    if (body["messages"][0]["content"] != "p3") return {.status = 200};
    return {.status = 429, .body = R"({"error": {"message": "queue full"}})"};
  };
  const auto report = RunServeBench(Options(world));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->arms[0].statistics.errors, (std::map<std::string, int64_t>{{"status 429", 1}}));
  EXPECT_EQ(report->arms[0].statistics.first_error, "queue full");
  EXPECT_EQ(report->arms[0].statistics.succeeded, 11);
}

TEST(ServeBench, AcceptanceComesFromMetricsWhereAnswersDontTell) {
  World world;
  const auto report = RunServeBench(Options(world, true));
  ASSERT_TRUE(report.ok());
  const ServeStatistics& found = report->arms[0].statistics;
  ASSERT_TRUE(found.drafts);
  EXPECT_TRUE(found.drafts_from_metrics);
  EXPECT_EQ(found.drafts->drafted, 10);
  EXPECT_EQ(found.drafts->accepted, 6);
}

TEST(ServeEvents, OfVerbatimAndOfOthers) {
  ServedRequest request;
  EXPECT_TRUE(
      TakeServeEvent(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})", 1, request));
  EXPECT_TRUE(request.event_times.empty());
  EXPECT_TRUE(TakeServeEvent(
      R"({"choices":[{"delta":{"reasoning_content":"think"}}],"usage":null})", 2, request));
  EXPECT_TRUE(TakeServeEvent(R"({"choices":[{"delta":{"reasoning":" more"}}]})", 3, request));
  EXPECT_TRUE(TakeServeEvent(R"({"choices":[{"delta":{"content":"say"}}]})", 4, request));
  EXPECT_TRUE(TakeServeEvent(R"({"choices":[{"text":"ing"}]})", 5, request));
  EXPECT_TRUE(TakeServeEvent(
      R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]})", 6,
      request));
  EXPECT_TRUE(TakeServeEvent(
      R"({"choices":[{"delta":{},"finish_reason":"stop","verbatim":{"speculation":{"kind":"mtp",
          "tested_at":[3,2],"accepted_at":[2,1]}}}],"timings":{"draft_n":5,"draft_n_accepted":3}})",
      7, request));
  EXPECT_TRUE(TakeServeEvent(
      R"({"choices":[],"usage":{"prompt_tokens":8,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":0}}})",
      8, request));
  EXPECT_FALSE(TakeServeEvent("[DONE]", 9, request));
  EXPECT_TRUE(request.ok());
  EXPECT_EQ(request.event_times, (std::vector<double>{2, 3, 4, 5, 6}));
  EXPECT_EQ(request.reasoning, "think more");
  EXPECT_EQ(request.text, "saying");
  EXPECT_EQ(request.tool_calls, "f{}");
  EXPECT_EQ(request.tested_at, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(request.drafts->accepted, 3);
  EXPECT_EQ(request.completion_tokens, 6);
  EXPECT_EQ(request.cached_tokens, 0);
}

TEST(ServeEvents, ErrorsEndTheAnswer) {
  ServedRequest request;
  EXPECT_FALSE(TakeServeEvent(R"({"error":{"message":"NaN"}})", 1, request));
  EXPECT_EQ(request.error, "error event");
  EXPECT_EQ(request.error_message, "NaN");
  ServedRequest other;
  EXPECT_FALSE(TakeServeEvent("<html>\n", 1, other));
  EXPECT_EQ(other.error, "not JSON");
}

TEST(SseParser, GivesTheSameForEveryCut) {
  const std::string stream =
      ": waiting\n\nevent: x\ndata: one\n\ndata:two\ndata:  three\r\n\r\nid: 4\n\ndata\n\ndata: "
      "[DONE]\n\ndata: half";
  const std::vector<std::string> expected = {"one", "two\n three", "[DONE]"};
  for (size_t size = 1; size <= stream.size(); ++size) {
    SseParser parser;
    std::vector<std::string> found;
    for (size_t at = 0; at < stream.size(); at += size) {
      parser.Push(std::string_view(stream).substr(at, size),
                  [&](std::string_view data) { found.emplace_back(data); });
    }
    EXPECT_EQ(found, expected) << size;
  }
}

}  // namespace
}  // namespace verbatim
