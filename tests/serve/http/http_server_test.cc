// Requests and responses over sockets: what a well-behaved client sees. Not limits
// (http_limits_test.cc), not addresses and ends (http_lifetime_test.cc).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/serve/http/test_server.h"

namespace verbatim::serve::testing {
namespace {

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  TestServer server;
  RawClient client = server.Connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.Send(Post("/echo?a=b", "body", "x-request-id: my-id.1\r\n")));
    const RawResponse response = client.Receive();
    EXPECT_EQ(response.status, 200);
    EXPECT_TRUE(response.whole);
    EXPECT_EQ(response.body, "POST /echo?a=b body");
    EXPECT_EQ(response.Header("x-request-id"), "my-id.1");
    EXPECT_EQ(response.Header("content-type"), "text/plain");
    EXPECT_EQ(response.Header("server"), "verbatim");
    EXPECT_NE(response.Header("date"), "-");
  }
  EXPECT_EQ(server->stats().connections_total, 1);
  EXPECT_EQ(server->stats().requests_total, 3);
  EXPECT_EQ(server->stats().refused_total, 0);
}

TEST(HttpServer, AHarmfulRequestIdIsReplaced) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/echo", "x-request-id: a b\r\n"));
  const std::string first = client.Receive().Header("x-request-id");
  client.Send(Get("/echo"));
  const std::string second = client.Receive().Header("x-request-id");
  EXPECT_EQ(first.substr(0, 4), "req_");
  EXPECT_EQ(second.substr(0, 4), "req_");
  EXPECT_NE(first, second);
}

TEST(HttpServer, Streams) {
  TestServer server;
  RawClient client = server.Connect();
  for (int i = 0; i < 2; ++i) {
    client.Send(Get("/stream"));
    const RawResponse response = client.Receive();
    EXPECT_EQ(response.Header("transfer-encoding"), "chunked");
    EXPECT_TRUE(response.whole);
    EXPECT_EQ(response.body, "one two three");
  }
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  const RawResponse old = client.Receive();
  EXPECT_EQ(old.Header("transfer-encoding"), "-");
  EXPECT_EQ(old.Header("connection"), "close");
  EXPECT_EQ(old.body, "one two three");
}

TEST(HttpServer, PartsArriveWhileTheResponseIsOpen) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  ASSERT_TRUE(exchange);
  exchange->Start(200, {});
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(exchange->Write(std::to_string(i) + " "));
    exchange->End();
    EXPECT_FALSE(exchange->Write("late"));
  });
  const RawResponse response = client.Receive();
  writer.join();
  EXPECT_TRUE(response.whole);
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + " ";
  EXPECT_EQ(response.body, expected);
  EXPECT_FALSE(exchange->gone());
  client.Send(Get("/echo"));
  EXPECT_EQ(client.Receive().status, 200);
}

TEST(HttpServer, HeadHasNoBody) {
  TestServer server;
  RawClient client = server.Connect();
  for (const char* path : {"/echo", "/stream", "/none"}) {
    client.Send(fmt::format("HEAD {} HTTP/1.1\r\nHost: h\r\n\r\n", path));
    EXPECT_TRUE(client.Receive(true).whole);
  }
  client.Send(Get("/echo"));
  EXPECT_EQ(client.Receive().body, "GET /echo? ");
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrderOneAfterTheOther) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold") + Post("/echo?2", "two") + Get("/stream") + Get("/echo?4"));
  const auto exchange = server.Held();
  ASSERT_TRUE(exchange);
  EXPECT_EQ(server->stats().requests_total, 1);
  exchange->Respond(200, {}, "first");
  EXPECT_EQ(client.Receive().body, "first");
  EXPECT_EQ(client.Receive().body, "POST /echo?2 two");
  EXPECT_EQ(client.Receive().body, "one two three");
  EXPECT_EQ(client.Receive().body, "GET /echo?4 ");
}

TEST(HttpServer, ManyPipelinedRequests) {
  TestServer server;
  RawClient client = server.Connect();
  std::string all;
  for (int i = 0; i < 2000; ++i) all += Get("/echo?" + std::to_string(i));
  std::thread sender([&] { client.Send(all); });
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(client.Receive().body, "GET /echo?" + std::to_string(i) + " ");
  }
  sender.join();
}

TEST(HttpServer, ConnectionCloseAndHttp10) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/echo", "Connection: close\r\n") + Get("/echo"));
  RawResponse response = client.Receive();
  EXPECT_EQ(response.Header("connection"), "close");
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(server->stats().requests_total, 1);
  client = server.Connect();
  client.Send("GET /echo HTTP/1.0\r\n\r\n");
  response = client.Receive();
  EXPECT_EQ(response.Header("connection"), "close");
  EXPECT_EQ(response.body, "GET /echo? ");
  EXPECT_TRUE(client.Closed());
  client = server.Connect();
  client.Send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.Receive().Header("connection"), "keep-alive");
  client.Send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 200);
}

TEST(HttpServer, ChunkedBodiesHoweverTheyArrive) {
  TestServer server;
  RawClient client = server.Connect();
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nA: b\r\n\r\n";
  for (size_t cut = 1; cut < request.size(); ++cut) {
    client.Send(std::string_view(request).substr(0, cut));
    std::this_thread::yield();
    client.Send(std::string_view(request).substr(cut));
    ASSERT_EQ(client.Receive().body, "POST /echo? hello world") << cut;
  }
}

TEST(HttpServer, ExpectContinue) {
  TestServer server;
  RawClient client = server.Connect();
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  for (int i = 0; i < 2; ++i) {
    client.Send(head);
    EXPECT_EQ(client.Receive().status, 100);
    client.Send("abc");
    EXPECT_EQ(client.Receive().body, "POST /echo? abc");
  }
  client.Send(head + "abc");  // didn't wait: needs no 100
  EXPECT_EQ(client.Receive().status, 200);
}

TEST(HttpServer, AHandlersFaultsAre500OrACut) {
  TestServer server;
  RawClient client = server.Connect();
  for (const char* path : {"/throw", "/drop"}) {
    client.Send(Get(path));
    const RawResponse response = client.Receive();
    EXPECT_EQ(response.status, 500);
    EXPECT_NE(response.body.find("\"status\":500"), std::string::npos);
    EXPECT_EQ(response.Header("content-type"), "application/json");
  }
  client.Send(Get("/stream-drop"));
  const RawResponse cut = client.Receive();
  EXPECT_EQ(cut.status, 200);
  EXPECT_EQ(cut.body, "part");
  EXPECT_FALSE(cut.whole);
  EXPECT_TRUE(client.Closed());
}

TEST(HttpServer, AbortIsSeenByTheClient) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  ASSERT_TRUE(exchange);
  exchange->Start(200, {});
  exchange->Write("part");
  exchange->Abort();
  const RawResponse response = client.Receive();
  EXPECT_EQ(response.body, "part");
  EXPECT_FALSE(response.whole);
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(server.gone_calls(), 0);
  EXPECT_EQ(server->stats().clients_gone_total, 0);
}

TEST(HttpServer, AHundredConnectionsAtOnce) {
  TestServer server({.num_threads = 3});
  std::vector<std::thread> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back([&server, i] {
      RawClient client = server.Connect();
      const std::string body(static_cast<size_t>(i) * 1000, 'x');
      for (int k = 0; k < 5; ++k) {
        ASSERT_TRUE(client.Send(Post("/echo?" + std::to_string(i), body)));
        ASSERT_EQ(client.Receive().body, "POST /echo?" + std::to_string(i) + " " + body);
        client.Send(Get("/stream"));
        ASSERT_EQ(client.Receive().body, "one two three");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(server->stats().connections_total, 100);
  EXPECT_EQ(server->stats().requests_total, 1000);
  EXPECT_TRUE(Eventually([&] { return server->stats().connections_open == 0; }));
  EXPECT_EQ(server->stats().clients_gone_total, 0);
}

TEST(HttpServer, HeldResponsesFromManyThreads) {
  TestServer server({.num_threads = 2});
  std::vector<RawClient> clients;
  for (int i = 0; i < 32; ++i) {
    clients.push_back(server.Connect());
    clients.back().Send(Get("/hold?" + std::to_string(i)));
  }
  std::vector<std::thread> writers;
  for (size_t i = 0; i < clients.size(); ++i) {
    writers.emplace_back([exchange = server.Held(i)] {
      exchange->Start(200, {});
      for (int k = 0; k < 200; ++k) exchange->Write(exchange->request().query + ",");
      exchange->End();
    });
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    const RawResponse response = clients[i].Receive();
    EXPECT_TRUE(response.whole);
    std::string expected;
    for (int k = 0; k < 200; ++k) expected += std::to_string(i) + ",";
    EXPECT_EQ(response.body, expected);
  }
  for (std::thread& writer : writers) writer.join();
}

TEST(HttpServer, PeersAreNamed) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  EXPECT_EQ(server.Held()->request().peer.substr(0, 10), "127.0.0.1:");
}

}  // namespace
}  // namespace verbatim::serve::testing
