// Limits, time limits, and clients that go away or take nothing. The times are the shortest that
// leave a good client room; no test measures any.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/serve/http/test_server.h"

namespace verbatim::serve::testing {
namespace {

using std::chrono::milliseconds;

// A good client on a busy machine connects and sends within it.
constexpr milliseconds kShort{300};

void ExpectRefusal(RawClient& client, int status) {
  const RawResponse response = client.Receive();
  EXPECT_EQ(response.status, status);
  EXPECT_TRUE(response.whole);
  EXPECT_EQ(response.Header("content-type"), "application/json");
  EXPECT_EQ(response.Header("connection"), "close");
  EXPECT_EQ(response.Header("x-request-id").substr(0, 4), "req_");
  EXPECT_EQ(response.body.rfind("{\"status\":" + std::to_string(status), 0), 0U) << response.body;
  EXPECT_TRUE(client.Closed());
}

TEST(HttpLimits, MalformedRequestsGetTheErrorBodyAndNoSecondChance) {
  TestServer server;
  for (const std::string bytes :
       {"nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"}) {
    RawClient client = server.Connect();
    client.Send(bytes + Get("/echo"));
    ExpectRefusal(client, 400);
  }
  EXPECT_EQ(server->stats().refused_total, 4);
  EXPECT_EQ(server->stats().requests_total, 0);
  RawClient client = server.Connect();  // behind a good one
  client.Send(Get("/echo") + "nonsense\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 200);
  ExpectRefusal(client, 400);
}

TEST(HttpLimits, HeaderAndBodyBytes) {
  TestServer server({.max_header_bytes = 1000, .max_body_bytes = 5000});
  RawClient client = server.Connect();
  client.Send(Post("/echo", std::string(5000, 'x')));
  EXPECT_EQ(client.Receive().status, 200);
  client.Send(Get("/echo", "A: " + std::string(1000, 'x') + "\r\n"));
  ExpectRefusal(client, 431);
  client = server.Connect();
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5001\r\nExpect: 100-continue\r\n\r\n");
  ExpectRefusal(client, 413);  // instead of 100
  client = server.Connect();
  client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n");
  ExpectRefusal(client, 413);
}

TEST(HttpLimits, ErrorsAreMadeOfWhatIsKnownOfTheRequest) {
  TestServer server({.max_header_bytes = 1000, .max_body_bytes = 10, .body_timeout = kShort});
  const auto expect = [&](const std::string& bytes, int status, const std::string& path,
                          const std::string& origin) {
    RawClient client = server.Connect();
    client.Send(bytes);
    const RawResponse response = client.Receive();
    EXPECT_EQ(response.status, status) << bytes;
    EXPECT_EQ(response.Header("x-error-path"), path) << bytes;
    EXPECT_EQ(response.Header("x-error-origin"), origin) << bytes;
    EXPECT_EQ(response.Header("x-error-id"), response.Header("x-request-id")) << bytes;
    EXPECT_EQ(response.Header("content-type"), "application/json") << bytes;
  };
  const std::string origin = "Origin: http://o\r\n";
  expect(Post("/a/b?c", "12345678901", origin), 413, "/a/b", "http://o");
  expect(Post("/a", "123", origin + "Content-Encoding: gzip\r\n"), 415, "/a", "http://o");
  expect("POST /a HTTP/1.1\r\nHost: h\r\n" + origin + "Content-Length: 9\r\n\r\n1", 408, "/a",
         "http://o");
  expect(Get("/drop", origin), 500, "/drop", "http://o");
  expect(Get("/throw", origin), 500, "/throw", "http://o");
  expect(Get("/a", "A: " + std::string(1000, 'x') + "\r\n" + origin), 431, "/a", "");
  expect("GET /" + std::string(1000, 'x'), 414, "", "");
  expect("nonsense\r\n\r\n", 400, "", "");
}

TEST(HttpLimits, ATooLargeBodyIsReadAwaySoThatTheClientGetsTheAnswer) {
  TestServer server({.max_body_bytes = 1000});
  RawClient client = server.Connect();
  // Sends all of it before it reads, as many clients do.
  EXPECT_TRUE(client.Send(Post("/echo", std::string(8 << 20, 'x'))));
  ExpectRefusal(client, 413);
}

TEST(HttpLimits, TheBodiesOfAllRequestsTogether) {
  TestServer server({.max_total_body_bytes = 20'000});
  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 15000\r\n";
  RawClient first = server.Connect();
  first.Send(head + "\r\n" + std::string(14'999, 'x'));
  RawClient probe = server.Connect();
  for (int i = 0; i < 3; ++i) {  // one thread, in order: then the first one's bytes are read, too
    probe.Send(Get("/echo"));
    EXPECT_EQ(probe.Receive().status, 200);
  }
  RawClient second = server.Connect();
  second.Send(head + "\r\n" + std::string(14'999, 'x'));
  const RawResponse refused = second.Receive();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("retry-after"), "1");
  first.Send("x");
  EXPECT_EQ(first.Receive().body, "POST /echo? " + std::string(14'999, 'x') + "x");
  second = server.Connect();
  second.Send(head + "\r\n" + std::string(15'000, 'x'));
  EXPECT_EQ(second.Receive().status, 200);
}

TEST(HttpLimits, Connections) {
  TestServer server({.max_connections = 2});
  RawClient first = server.Connect();
  RawClient second = server.Connect();
  for (RawClient* client : {&first, &second}) {
    client->Send(Get("/echo"));
    EXPECT_EQ(client->Receive().status, 200);
  }
  RawClient third = server.Connect();
  third.Send(Get("/echo"));
  ExpectRefusal(third, 503);
  first.Close();
  EXPECT_TRUE(Eventually([&] {
    RawClient next = server.Connect();
    next.Send(Get("/echo"));
    return next.Receive().status == 200;
  }));
}

TEST(HttpLimits, HeaderTime) {
  TestServer server({.header_timeout = kShort});
  RawClient silent = server.Connect();
  EXPECT_TRUE(silent.Closed());  // never said a byte: no answer either
  RawClient slow = server.Connect();
  slow.Send("GET /echo HTTP/1.1\r\nHo");
  ExpectRefusal(slow, 408);
  RawClient second = server.Connect();  // the second request of a connection has its own time
  second.Send(Get("/echo") + "GET /ec");
  EXPECT_EQ(second.Receive().status, 200);
  ExpectRefusal(second, 408);
  EXPECT_EQ(server->stats().refused_total, 2);
}

TEST(HttpLimits, BodyTime) {
  TestServer server({.header_timeout = kShort, .body_timeout = 5 * kShort});
  RawClient client = server.Connect();
  client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na");
  std::this_thread::sleep_for(2 * kShort);  // longer than a header may take
  client.Send("bc");
  EXPECT_EQ(client.Receive().status, 200);
  client = server.Connect();
  client.Send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na");
  ExpectRefusal(client, 408);
}

TEST(HttpLimits, IdleTime) {
  TestServer server({.idle_timeout = kShort});
  RawClient client = server.Connect();
  client.Send(Get("/echo"));
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_TRUE(client.Closed());
  EXPECT_EQ(server->stats().refused_total, 0);
}

TEST(HttpLimits, AHandlerMayTakeLongerThanAnyTimeLimitOfTheClient) {
  TestServer server({.header_timeout = kShort,
                     .body_timeout = kShort,
                     .idle_timeout = kShort,
                     .write_timeout = kShort});
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  std::this_thread::sleep_for(4 * kShort);
  exchange->Respond(200, {}, "late");
  EXPECT_EQ(client.Receive().body, "late");
}

TEST(HttpLimits, ASlowReaderIsCutWhenItTakesNothing) {
  TestServer server({.write_timeout = 3 * kShort, .max_write_buffer = size_t{1} << 30});
  RawClient client = server.Connect(4096);
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  exchange->Start(200, {});
  // Far more than the kernel's buffers hold.
  EXPECT_TRUE(exchange->Write(std::string(64 << 20, 'x')));
  EXPECT_TRUE(Eventually([&] { return exchange->gone(); }));
  EXPECT_TRUE(Eventually([&] { return server.gone_calls() == 1; }));
  EXPECT_FALSE(exchange->Write("x"));
  EXPECT_TRUE(Eventually([&] { return server->stats().slow_readers_cut_total == 1; }));
  EXPECT_EQ(server->stats().clients_gone_total, 0);
  EXPECT_FALSE(client.Receive().whole);
}

TEST(HttpLimits, ASlowReaderIsCutWhenItsBufferIsFull) {
  TestServer server({.max_write_buffer = 100'000});
  RawClient client = server.Connect(4096);
  RawClient good = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  exchange->Start(200, {});
  size_t written = 0;
  while (exchange->Write(std::string(50'000, 'x')) && written < (size_t{64} << 20)) {
    written += 50'000;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_LT(written, size_t{64} << 20);
  EXPECT_TRUE(exchange->gone());
  EXPECT_TRUE(Eventually([&] { return server->stats().slow_readers_cut_total == 1; }));
  EXPECT_TRUE(Eventually([&] { return server.gone_calls() == 1; }));
  good.Send(Get("/echo"));
  EXPECT_EQ(good.Receive().status, 200);
}

TEST(HttpLimits, AReaderThatIsSlowButReadsGetsAll) {
  TestServer server({.write_timeout = 20 * kShort});
  RawClient client = server.Connect(4096);
  client.Send(Get("/hold"));
  const std::string body(8 << 20, 'x');  // a whole response may be larger than the buffer of parts
  server.Held()->Respond(200, {}, body);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.Fill());
    std::this_thread::sleep_for(milliseconds(5));
  }
  const RawResponse response = client.Receive();
  EXPECT_TRUE(response.whole);
  EXPECT_TRUE(response.body == body);
}

// One held request for each way of going away.
class HttpGoneTest : public ::testing::TestWithParam<int> {
 protected:
  static void Leave(RawClient& client) {
    if (GetParam() == 0) client.Close();
    if (GetParam() == 1) client.Reset();
    if (GetParam() == 2) client.EndSending();
  }
};

TEST_P(HttpGoneTest, BeforeTheResponseBegins) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  Leave(client);
  EXPECT_TRUE(Eventually([&] { return server.gone_calls() == 1; }));
  EXPECT_TRUE(exchange->gone());
  exchange->Respond(200, {}, "nobody reads this");
  EXPECT_TRUE(Eventually([&] { return server->stats().connections_open == 0; }));
  EXPECT_EQ(server->stats().clients_gone_total, 1);
  int late = 0;
  exchange->OnGone([&] { ++late; });
  EXPECT_EQ(late, 1);
}

TEST_P(HttpGoneTest, BetweenTwoParts) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  exchange->Start(200, {});
  exchange->Write("part");
  EXPECT_TRUE(client.Fill());
  Leave(client);
  EXPECT_TRUE(Eventually([&] { return server.gone_calls() == 1; }));
  EXPECT_FALSE(exchange->Write("more"));
  exchange->End();
  EXPECT_TRUE(Eventually([&] { return server->stats().connections_open == 0; }));
}

TEST_P(HttpGoneTest, WithAFurtherRequestBehindIt) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold") + Get("/echo"));
  server.Held();
  Leave(client);
  EXPECT_TRUE(Eventually([&] { return server.gone_calls() == 1; }));
  EXPECT_EQ(server->stats().requests_total, 1);
}

TEST_P(HttpGoneTest, InTheMiddleOfARequest) {
  TestServer server;
  const std::string request = Post("/echo", "body");
  for (size_t cut = 0; cut < request.size(); ++cut) {
    RawClient client = server.Connect();
    client.Send(std::string_view(request).substr(0, cut));
    Leave(client);
    if (GetParam() != 2) continue;
    const RawResponse response = client.Receive();  // it can still hear
    EXPECT_EQ(response.status, cut == 0 ? 0 : 400) << cut;
  }
  EXPECT_TRUE(Eventually([&] { return server->stats().connections_open == 0; }));
  EXPECT_EQ(server->stats().requests_total, 0);
  EXPECT_EQ(server->stats().clients_gone_total, 0);
}

INSTANTIATE_TEST_SUITE_P(CloseResetHalfClose, HttpGoneTest, ::testing::Values(0, 1, 2));

TEST(HttpGone, AfterTheEndItIsNotCalled) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  exchange->Respond(200, {}, "x");
  EXPECT_EQ(client.Receive().status, 200);
  client.Close();
  EXPECT_TRUE(Eventually([&] { return server->stats().connections_open == 0; }));
  EXPECT_EQ(server.gone_calls(), 0);
  EXPECT_FALSE(exchange->gone());
}

TEST(HttpGone, RequestsThatAreAnsweredAtOnceAreAnsweredToAHalfClosedClient) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/echo?1") + Get("/echo?2") + Get("/stream"));
  client.EndSending();
  EXPECT_EQ(client.Receive().body, "GET /echo?1 ");
  EXPECT_EQ(client.Receive().body, "GET /echo?2 ");
  EXPECT_EQ(client.Receive().body, "one two three");
  EXPECT_TRUE(client.Closed());
}

TEST(HttpGone, ManyDyingClientsBesideGoodOnes) {
  TestServer server({.num_threads = 2});
  std::vector<std::thread> clients;
  for (int t = 0; t < 4; ++t) {
    clients.emplace_back([&server, t] {
      for (int i = 0; i < 50; ++i) {
        RawClient dying = server.Connect();
        const std::string request = Post("/stream", "body");
        dying.Send(std::string_view(request).substr(0, static_cast<size_t>(i * 7 + t) % 90));
        if (i % 3 == 0) dying.Reset();
        if (i % 3 == 1) dying.Close();
        RawClient good = server.Connect();
        good.Send(Get("/stream"));
        ASSERT_EQ(good.Receive().body, "one two three");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(Eventually([&] { return server->stats().connections_open == 0; }));
}

}  // namespace
}  // namespace verbatim::serve::testing
