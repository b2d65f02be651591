// Answers of several dialects, their comparison, and two servers behind a fake client. Not real
// connections (tests/cli/test_remote_flips.py).
#include "measure/remote_flips.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace verbatim {
namespace {

using nlohmann::json;

Answer Parsed(const std::string& body, Endpoint endpoint) {
  const auto answer = ParseAnswer(body, endpoint, "server");
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  return answer.ok() ? *answer : Answer();
}

TEST(ParseAnswerTest, LlamaCpp) {
  const Answer answer = Parsed(
      R"({"choices": [{"text": " a b", "logprobs": {"content": [
           {"id": 17, "token": " a", "logprob": -0.1, "top_logprobs": [
             {"id": 17, "token": " a", "logprob": -0.1}, {"id": 4, "token": " c", "logprob": -2.6}]},
           {"id": 9, "token": " b", "logprob": -0.5, "top_logprobs": []}]}}],
          "usage": {"completion_tokens": 2},
          "timings": {"predicted_n": 2, "draft_n": 6, "draft_n_accepted": 4}})",
      Endpoint::kCompletions);
  EXPECT_EQ(answer.text, " a b");
  ASSERT_EQ(answer.tokens.size(), 2u);
  EXPECT_TRUE(answer.has_ids);
  EXPECT_EQ(answer.tokens[0].id, 17);
  ASSERT_TRUE(answer.tokens[0].gap.has_value());
  EXPECT_FLOAT_EQ(*answer.tokens[0].gap, 2.5F);
  EXPECT_EQ(answer.tokens[0].best, " a");
  EXPECT_EQ(answer.tokens[0].second, " c");
  EXPECT_FALSE(answer.tokens[1].gap.has_value());
  EXPECT_EQ(answer.drafts->drafted, 6);
  EXPECT_EQ(answer.drafts->accepted, 4);
  EXPECT_EQ(answer.completion_tokens, 2);
}

TEST(ParseAnswerTest, VllmCompletionsWithIdsAndSpeculation) {
  const Answer answer = Parsed(
      R"({"choices": [{"text": "xy", "token_ids": [5, 6], "logprobs": {"tokens": ["x", "y"],
           "token_logprobs": [-0.2, -0.3], "top_logprobs": [{"x": -0.2, "z": -1.2}, null]}}],
          "metrics": {"speculative_decoding": {"num_draft_tokens": 8,
           "num_accepted_draft_tokens": 3}}})",
      Endpoint::kCompletions);
  EXPECT_TRUE(answer.has_ids);
  EXPECT_EQ(answer.tokens[1].id, 6);
  EXPECT_EQ(answer.tokens[1].text, "y");
  EXPECT_FLOAT_EQ(*answer.tokens[0].gap, 1.0F);
  EXPECT_EQ(answer.drafts->drafted, 8);
  EXPECT_EQ(Parsed(R"({"choices": [{"text": "x", "logprobs": {"tokens": ["token_id:7"]}}]})",
                   Endpoint::kCompletions)
                .tokens[0]
                .id,
            7);
}

TEST(ParseAnswerTest, ChatWithReasoningAndTools) {
  for (const char* name : {"reasoning_content", "reasoning"}) {
    const Answer answer =
        Parsed(fmt::format(R"({{"choices": [{{"message": {{"content": null, "{}": "hm",
                        "tool_calls": [{{"id": "1"}}]}}}}]}})",
                           name),
               Endpoint::kChat);
    EXPECT_EQ(answer.text, "");
    EXPECT_EQ(answer.reasoning, "hm");
    EXPECT_EQ(answer.tool_calls, R"([{"id":"1"}])");
    EXPECT_FALSE(answer.IsEmpty());
    EXPECT_FALSE(answer.drafts.has_value());
  }
}

// A server that has probabilities for some of its tokens only would be compared with holes.
TEST(ParseAnswerTest, DropsTokensThatAreNotAll) {
  const Answer answer = Parsed(
      R"({"choices": [{"text": "abcd", "logprobs": {"content": [{"id": 1, "token": "a"}]}}],
          "usage": {"completion_tokens": 4}})",
      Endpoint::kCompletions);
  EXPECT_TRUE(answer.tokens.empty());
  EXPECT_FALSE(answer.has_ids);
}

TEST(ParseAnswerTest, RefusesWhatIsNoAnswer) {
  for (const char* body : {"", "<html>", "{", "[]", "{}", R"({"choices": []})",
                           R"({"choices": [{"text": 3}]})", R"({"choices": [1]})"}) {
    for (const Endpoint endpoint : {Endpoint::kCompletions, Endpoint::kChat}) {
      const auto answer = ParseAnswer(body, endpoint, "candidate h:1");
      ASSERT_FALSE(answer.ok()) << body;
      EXPECT_EQ(answer.status().code(), StatusCode::kCorrupt);
      EXPECT_NE(answer.status().message().find("candidate h:1"), std::string::npos);
    }
  }
}

TEST(ParseDraftMetricsTest, SumsLabels) {
  const auto counts = ParseDraftMetrics(
      "# HELP vllm:spec_decode_num_draft_tokens_total Number\n"
      "vllm:spec_decode_num_draft_tokens_total{engine=\"0\",model_name=\"a b\"} 30.0\n"
      "vllm:spec_decode_num_draft_tokens_total{engine=\"1\"} 1e1\r\n"
      "vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} 12\n"
      "vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} 99\n");
  ASSERT_TRUE(counts.has_value());
  EXPECT_EQ(counts->drafted, 40);
  EXPECT_EQ(counts->accepted, 12);
  EXPECT_FALSE(ParseDraftMetrics("requests_total 3\n\nbroken\n").has_value());
}

TEST(ParseHttpUrlTest, PartsAndFaults) {
  const auto url = ParseHttpUrl("https://example.org/api/v1/", "--baseline");
  ASSERT_TRUE(url.ok());
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->host, "example.org");
  EXPECT_EQ(url->port, "443");
  EXPECT_EQ(url->path, "/api/v1");
  const auto v6 = ParseHttpUrl("http://[::1]:8080", "--baseline");
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, "8080");
  EXPECT_EQ(ParseHttpUrl("http://h", "x")->port, "80");
  for (const char* text :
       {"", "h:80", "ftp://h", "http://", "http://:80", "http://h:0", "http://h:99999",
        "http://h:8a", "http://h:", "http://u@h", "http://h/a?b", "http://h h"}) {
    EXPECT_EQ(ParseHttpUrl(text, "x").status().code(), StatusCode::kInvalidArgument) << text;
  }
}

Answer Tokens(std::vector<std::pair<int64_t, std::string>> tokens) {
  Answer answer;
  answer.has_ids = !tokens.empty();
  for (const auto& [id, text] : tokens) {
    answer.tokens.push_back({.text = text, .id = id});
    answer.text += text;
    answer.has_ids = answer.has_ids && id >= 0;
  }
  return answer;
}

TEST(CompareAnswersTest, ByTheBestThatBothHave) {
  const Answer ids = Tokens({{1, "a"}, {2, "b"}});
  const Answer texts = Tokens({{-1, "a"}, {-1, "c"}});
  Answer plain;
  plain.text = "ab";
  EXPECT_FALSE(CompareAnswers(ids, ids).divergence.has_value());
  EXPECT_EQ(CompareAnswers(ids, ids).unit, AnswerUnit::kTokenIds);
  EXPECT_EQ(CompareAnswers(ids, ids).tokens, 2);
  const AnswerComparison by_text = CompareAnswers(ids, texts);
  EXPECT_EQ(by_text.unit, AnswerUnit::kTokenTexts);
  EXPECT_EQ(by_text.divergence->position, 1);
  EXPECT_EQ(by_text.tokens, 2);
  EXPECT_EQ(CompareAnswers(ids, plain).unit, AnswerUnit::kCharacters);
  EXPECT_FALSE(CompareAnswers(ids, plain).divergence.has_value());
}

TEST(CompareAnswersTest, AnEarlierEndIsADivergence) {
  const AnswerComparison shorter = CompareAnswers(Tokens({{1, "a"}, {2, "b"}}), Tokens({{1, "a"}}));
  ASSERT_TRUE(shorter.divergence.has_value());
  EXPECT_EQ(shorter.divergence->position, 1);
  EXPECT_EQ(shorter.divergence->b, "(end)");
  EXPECT_EQ(shorter.units, 2);
}

TEST(CompareAnswersTest, ChannelsAreSeenEvenWhereTokensAgree) {
  Answer a = Tokens({{1, "a"}, {2, "b"}});
  Answer b = a;
  b.reasoning = "a";
  b.text = "b";
  const AnswerComparison comparison = CompareAnswers(a, b);
  ASSERT_TRUE(comparison.divergence.has_value());
  EXPECT_EQ(comparison.divergence->channel, Channel::kReasoning);
  EXPECT_EQ(comparison.divergence->position, 2);
}

TEST(CompareAnswersTest, CharactersAndTheirShareOfTheTokens) {
  Answer a;
  a.reasoning = "h\xC3\xA4";  // two characters
  a.text = "12345678";
  a.completion_tokens = 5;
  Answer b = a;
  EXPECT_EQ(CompareAnswers(a, b).tokens, 5);
  b.text = "1234x678";
  AnswerComparison comparison = CompareAnswers(a, b);
  EXPECT_EQ(comparison.divergence->channel, Channel::kText);
  EXPECT_EQ(comparison.divergence->position, 6);
  EXPECT_EQ(comparison.units, 7);
  EXPECT_DOUBLE_EQ(comparison.tokens, 5 * 0.7);
  EXPECT_EQ(comparison.divergence->a, "5678");
  b = a;
  b.reasoning = "h\xC3\xB6";  // the second byte of a character differs
  comparison = CompareAnswers(a, b);
  EXPECT_EQ(comparison.divergence->channel, Channel::kReasoning);
  EXPECT_EQ(comparison.divergence->position, 1);
  EXPECT_EQ(comparison.divergence->a, "\xC3\xA4");
}

// What a server answers, by path and body.
using Serve = std::function<Expected<HttpResponse>(const HttpRequest&)>;

class FakeClient : public HttpClient {
 public:
  explicit FakeClient(Serve serve) : serve_(std::move(serve)) {}
  Expected<HttpResponse> Send(const HttpRequest& request) override { return serve_(request); }

 private:
  Serve serve_;
};

json AnswerOf(const std::string& text) {
  return {{"choices", json::array({{{"text", text}}})},
          {"usage", {{"completion_tokens", static_cast<int64_t>(text.size())}}}};
}

// Two servers by the host of their URL; /metrics is not there.
RemoteOptions Options(std::map<std::string, Serve> servers) {
  RemoteOptions options;
  options.urls = {"http://a:1", "http://b:1"};
  options.prompts = {{"x", "one"}, {"", "two"}, {"", "three"}};
  options.connect = [servers](const HttpUrl& url, const HttpOptions&) {
    const Serve& serve = servers.at(url.host);
    return std::make_unique<FakeClient>([serve](const HttpRequest& request) {
      if (request.path == "/v1/models") return Expected<HttpResponse>(HttpResponse{404, ""});
      if (request.path == "/metrics") return Expected<HttpResponse>(HttpResponse{404, ""});
      return serve(request);
    });
  };
  return options;
}

Serve Always(const json& answer) {
  return [answer](const HttpRequest&) { return HttpResponse{200, answer.dump()}; };
}

TEST(RemoteFlipsTest, EqualServers) {
  const auto report =
      RunRemoteFlips(Options({{"a", Always(AnswerOf("text"))}, {"b", Always(AnswerOf("text"))}}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->compared, 3);
  EXPECT_EQ(report->prompts_that_differ.events, 0);
  EXPECT_EQ(report->divergences.exposure, 12);
  EXPECT_EQ(report->arms[1].verdict, DraftVerdict::kUntold);
  EXPECT_EQ(report->arms[1].repeats.exposure, 3);
  EXPECT_EQ(report->arms[1].model, "default");
}

TEST(RemoteFlipsTest, EmptyAnswersAreNeverCompared) {
  const auto report =
      RunRemoteFlips(Options({{"a", Always(AnswerOf(""))}, {"b", Always(AnswerOf(""))}}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->compared, 0);
  EXPECT_EQ(report->no_data, 3);
  EXPECT_EQ(report->arms[0].empty, 3);
  EXPECT_EQ(report->divergences.exposure, 0);
}

// llama.cpp leaves the counts out where nothing was drafted.
TEST(RemoteFlipsTest, TimingsWithoutDraftsMeanThatNothingRan) {
  json answer = AnswerOf("text");
  answer["timings"] = {{"predicted_n", 4}};
  const auto none = RunRemoteFlips(Options({{"a", Always(answer)}, {"b", Always(answer)}}));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->arms[1].verdict, DraftVerdict::kNone);
  json drafting = answer;
  drafting["timings"]["draft_n"] = 3;
  drafting["timings"]["draft_n_accepted"] = 2;
  const auto ran = RunRemoteFlips(Options({{"a", Always(answer)}, {"b", Always(drafting)}}));
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->arms[0].verdict, DraftVerdict::kNone);
  EXPECT_EQ(ran->arms[1].verdict, DraftVerdict::kRan);
  EXPECT_EQ(ran->arms[1].drafts.drafted, 3 * 6);  // three prompts, twice
}

TEST(RemoteFlipsTest, MetricsTellWhereAnswersDoNot) {
  RemoteOptions options =
      Options({{"a", Always(AnswerOf("text"))}, {"b", Always(AnswerOf("text"))}});
  int calls = 0;
  options.connect = [&calls](const HttpUrl& url, const HttpOptions&) {
    return std::make_unique<FakeClient>([&calls, url](const HttpRequest& request) -> HttpResponse {
      if (request.path == "/v1/models") return {404, ""};
      if (request.path != "/metrics") return {200, AnswerOf("text").dump()};
      if (url.host == "a") return {404, ""};
      const int drafted = 100 * ++calls;
      return {200, fmt::format("vllm:spec_decode_num_draft_tokens_total {}\n", drafted)};
    });
  };
  const auto report = RunRemoteFlips(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->arms[1].verdict, DraftVerdict::kRan);
  EXPECT_TRUE(report->arms[1].drafts_from_metrics);
  EXPECT_EQ(report->arms[1].drafts.drafted, 100);
  EXPECT_EQ(report->arms[0].verdict, DraftVerdict::kUntold);
}

// Then texts are compared, for tokens would be those of classic decode.
TEST(RemoteFlipsTest, LogprobsThatTurnSpeculationOffAreLeftOut) {
  int with = 0;
  const Serve candidate = [&with](const HttpRequest& request) -> HttpResponse {
    json answer = AnswerOf("text");
    if (json::parse(request.body).contains("logprobs")) {
      ++with;
      answer["choices"][0]["logprobs"] = {{"tokens", json::array({"t", "e", "x", "t"})}};
    } else {
      answer["timings"] = {{"draft_n", 4}, {"draft_n_accepted", 4}};
    }
    return {200, answer.dump()};
  };
  const auto report = RunRemoteFlips(Options({{"a", Always(AnswerOf("text"))}, {"b", candidate}}));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->logprobs_off);
  EXPECT_EQ(with, 2);  // while finding out
  EXPECT_EQ(report->arms[1].verdict, DraftVerdict::kRan);
  EXPECT_EQ(report->by_unit[static_cast<size_t>(AnswerUnit::kCharacters)], 3);
}

TEST(RemoteFlipsTest, ARefusedFieldIsLeftOut) {
  std::vector<std::string> bodies;
  const Serve strict = [&bodies](const HttpRequest& request) -> HttpResponse {
    const json body = json::parse(request.body);
    bodies.push_back(request.body);
    if (body.contains("return_token_ids")) return {400, R"({"error": {"message": "unknown"}})"};
    if (body.contains("logprobs")) return {422, "{}"};
    return {200, AnswerOf("text").dump()};
  };
  const auto report = RunRemoteFlips(Options({{"a", strict}, {"b", strict}}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->compared, 3);
  // Per arm three tries, then two turns of three prompts; the candidate is asked twice more for
  // its drafts.
  EXPECT_EQ(bodies.size(), 2 * (3 + 6) + 2u);
}

TEST(RemoteFlipsTest, ChatWhereThereAreNoCompletions) {
  std::string last;
  const Serve chat = [&last](const HttpRequest& request) -> HttpResponse {
    if (request.path != "/v1/chat/completions") return {404, "no such path"};
    last = request.body;
    return {200, R"({"choices": [{"message": {"content": "hello"}}]})"};
  };
  const auto report = RunRemoteFlips(Options({{"a", chat}, {"b", chat}}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->compared, 3);
  EXPECT_EQ(json::parse(last)["messages"][0]["content"], "three");
}

TEST(RemoteFlipsTest, AServerThatDiesIsAskedNoMore) {
  int answers = 0;
  const Serve dying = [&answers](const HttpRequest&) -> Expected<HttpResponse> {
    // Three to find out what it can, then one prompt.
    if (++answers <= 5) return HttpResponse{200, AnswerOf("text").dump()};
    return MakeError(StatusCode::kIo, "b", "an HTTP server that answers", "connection refused");
  };
  RemoteOptions options = Options({{"a", Always(AnswerOf("text"))}, {"b", dying}});
  options.prompts.resize(20, {"", "more"});
  const auto report = RunRemoteFlips(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->compared, 1);
  EXPECT_EQ(report->arms[1].failed, 3);
  EXPECT_EQ(report->no_data, 3);
  EXPECT_EQ(report->not_asked, 16);
  EXPECT_NE(report->arms[1].first_error.find("connection refused"), std::string::npos);
}

TEST(RemoteFlipsTest, TheFirstAnswersErrorsEndIt) {
  const auto status_of = [](const Serve& candidate) {
    return RunRemoteFlips(Options({{"a", Always(AnswerOf("x"))}, {"b", candidate}})).status();
  };
  EXPECT_EQ(status_of([](const HttpRequest&) { return HttpResponse{200, "<html>"}; }).code(),
            StatusCode::kCorrupt);
  const Status wrong = status_of(
      [](const HttpRequest&) { return HttpResponse{500, R"({"error": {"message": "oom"}})"}; });
  EXPECT_EQ(wrong.code(), StatusCode::kIo);
  EXPECT_NE(wrong.message().find("status 500: oom"), std::string::npos) << wrong.message();
  RemoteOptions options = Options({{"a", Always(AnswerOf("x"))}, {"b", Always(AnswerOf("x"))}});
  options.urls[1] = "ftp://b";
  EXPECT_EQ(RunRemoteFlips(options).status().code(), StatusCode::kInvalidArgument);
}

TEST(RemoteFlipsTest, CanBeStopped) {
  RemoteOptions options = Options({{"a", Always(AnswerOf("x"))}, {"b", Always(AnswerOf("x"))}});
  int calls = 0;
  options.stop = [&calls] { return ++calls > 3; };
  EXPECT_EQ(RunRemoteFlips(options).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace verbatim
