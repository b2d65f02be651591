// What a browser is told: of preflights, and beside every answer to an allowed origin.
#include "serve/cors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace verbatim::serve {
namespace {

// Keeps what it is answered with.
class KeptExchange : public HttpExchange {
 public:
  explicit KeptExchange(std::vector<HttpHeader> headers) { request_.headers = std::move(headers); }

  const HttpRequest& request() const override { return request_; }
  void Respond(int status, std::vector<HttpHeader> headers, std::string) override {
    Start(status, std::move(headers));
  }
  void Start(int status, std::vector<HttpHeader> headers) override {
    status_ = status;
    answer_.headers = std::move(headers);
  }
  bool Write(std::string) override { return true; }
  void End() override {}
  void Abort() override {}
  void OnGone(std::function<void()>) override {}
  bool gone() const override { return false; }

  int status() const { return status_; }
  std::string_view Header(std::string_view name) const { return answer_.Header(name); }

 private:
  HttpRequest request_;
  int status_ = 0;
  HttpRequest answer_;  // for its search of headers
};

KeptExchange Preflight(const std::string& wanted) {
  KeptExchange exchange({{"Origin", "http://o"}, {"Access-Control-Request-Headers", wanted}});
  RespondToPreflight(exchange);
  EXPECT_EQ(exchange.status(), 204);
  EXPECT_EQ(exchange.Header("access-control-allow-origin"), "http://o");
  EXPECT_EQ(exchange.Header("vary"), "Origin, Access-Control-Request-Headers");
  return exchange;
}

TEST(Cors, PreflightsAllowTheHeadersThatTheyName) {
  for (const std::string wanted :
       {"authorization,content-type,x-stainless-arch,x-stainless-retry-count",
        "anthropic-beta, anthropic-dangerous-direct-browser-access , anthropic-version", "a"}) {
    EXPECT_EQ(Preflight(wanted).Header("access-control-allow-headers"), wanted);
  }
}

TEST(Cors, WhatIsNoListOfHeadersIsNotRepeated) {
  for (const std::string& wanted :
       {std::string(), std::string("a,,b"), std::string("a,"), std::string(" "), std::string("a b"),
        std::string("a:b"), std::string("<script>"), std::string("*, \x80"),
        std::string(4097, 'a')}) {
    EXPECT_EQ(Preflight(wanted).Header("access-control-allow-headers"), "") << wanted;
  }
  EXPECT_EQ(Preflight(std::string(4096, 'a')).Header("access-control-allow-headers").size(), 4096U);
}

TEST(Cors, AnswersLetTheirIdAndTheTimeToRetryBeRead) {
  for (const bool streamed : {false, true}) {
    auto kept = std::make_shared<KeptExchange>(std::vector<HttpHeader>{{"Origin", "http://o"}});
    const auto exchange = WithCors(kept);
    if (streamed) {
      exchange->Start(200, {});
    } else {
      exchange->Respond(429, {{"Retry-After", "1"}}, "{}");
    }
    EXPECT_EQ(kept->Header("access-control-allow-origin"), "http://o");
    EXPECT_EQ(kept->Header("access-control-expose-headers"), "x-request-id, retry-after");
    EXPECT_EQ(kept->Header("vary"), "Origin");
  }
}

}  // namespace
}  // namespace verbatim::serve
