// Addresses, Unix sockets, draining and the server's end with everything open.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"
#include "tests/serve/http/test_server.h"

namespace verbatim::serve::testing {
namespace {

using std::chrono::milliseconds;

Expected<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options) {
  auto server = HttpServer::Start(
      options,
      [](const std::shared_ptr<HttpExchange>& exchange) { exchange->Respond(200, {}, "x"); },
      [](const HttpRequest&, int, std::string_view) { return HttpServer::Error{.body = "{}"}; });
  if (server.ok()) (*server)->Begin();
  return server;
}

void ExpectFault(const HttpServerOptions& options, StatusCode code, const std::string& part) {
  const auto server = Start(options);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().code(), code);
  EXPECT_NE(server.status().message().find(part), std::string::npos) << server.status().message();
}

TEST(HttpListen, AddressesAndPorts) {
  TestServer server;
  EXPECT_GT(server->port(), 0);
  EXPECT_EQ(server->address(), "http://127.0.0.1:" + std::to_string(server->port()));
}

TEST(HttpListen, IPv6) {
  auto server = Start({.host = "::1"});
  if (!server.ok() && server.status().message().find("ssign") != std::string::npos) {
    GTEST_SKIP() << "no IPv6 on this machine: " << server.status().message();
  }
  ASSERT_TRUE(server.ok()) << server.status().message();
  EXPECT_EQ((*server)->address(), "http://[::1]:" + std::to_string((*server)->port()));
  RawClient client = RawClient::Tcp((*server)->port(), "::1");
  client.Send(Get("/"));
  EXPECT_EQ(client.Receive().status, 200);
}

TEST(HttpListen, ANameIsServedOnItsAddresses) {
  auto server = Start({.host = "localhost"});
  ASSERT_TRUE(server.ok()) << server.status().message();
  RawClient client = RawClient::Tcp((*server)->port());
  client.Send(Get("/"));
  EXPECT_EQ(client.Receive().status, 200);
}

TEST(HttpListen, NothingIsServedBeforeBegin) {
  std::atomic<bool> begun = false;
  std::atomic<bool> early = false;
  auto server = HttpServer::Start(
      {},
      [&](const std::shared_ptr<HttpExchange>& exchange) {
        early = early || !begun;
        exchange->Respond(200, {}, "x");
      },
      [](const HttpRequest&, int, std::string_view) { return HttpServer::Error{.body = "{}"}; });
  ASSERT_TRUE(server.ok()) << server.status().message();
  RawClient client = RawClient::Tcp((*server)->port());  // waits with the kernel
  client.Send(Get("/"));
  std::this_thread::sleep_for(milliseconds(50));  // room for the fault to show
  begun = true;
  (*server)->Begin();
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_FALSE(early);
}

TEST(HttpEnd, AStoppedServerCanStillBeAsked) {
  TestServer server;
  RawClient idle = server.Connect();
  idle.Send(Get("/echo"));
  EXPECT_EQ(idle.Receive().status, 200);
  RawClient waiting = server.Connect();
  waiting.Send(Get("/hold"));
  const std::shared_ptr<HttpExchange> held = server.Held();
  server->Stop();
  EXPECT_TRUE(idle.Closed());
  EXPECT_TRUE(waiting.Closed());
  EXPECT_TRUE(held->gone());
  held->Respond(200, {}, "too late");
  EXPECT_EQ(server->stats().requests_total, 2);
  EXPECT_EQ(server->stats().connections_open, 0);
  EXPECT_TRUE(server->WaitDrained(milliseconds(0)));
  server->Stop();
}

TEST(HttpListen, FaultsNameTheAddress) {
  TestServer server;
  const std::string address = server->address();
  ExpectFault({.port = server->port()}, StatusCode::kIo,
              "[" + address +
                  "] expected an address to listen on, received Address already in use; "
                  "try another one");
  ExpectFault({.host = "203.0.113.1"}, StatusCode::kIo, "[http://203.0.113.1:0]");
  ExpectFault({.host = "no-such-host.invalid"}, StatusCode::kIo, "[http://no-such-host.invalid:0]");
  ExpectFault({.host = ""}, StatusCode::kInvalidArgument, "expected a host");
  ExpectFault({.port = 65536}, StatusCode::kInvalidArgument, "a port from 0 to 65535");
  ExpectFault({.port = -1}, StatusCode::kInvalidArgument, "a port from 0 to 65535");
}

TEST(HttpListen, APortIsFreeAgainAtOnce) {
  int port = 0;
  for (int i = 0; i < 3; ++i) {
    auto server = Start({.port = port});
    ASSERT_TRUE(server.ok()) << server.status().message();
    port = (*server)->port();
    RawClient client = RawClient::Tcp(port);
    client.Send(Get("/"));
    EXPECT_EQ(client.Receive().status, 200);
    server->reset();  // closes first: the kernel remembers the connection for a while
    EXPECT_FALSE(RawClient::Tcp(port).connected());
  }
}

class HttpUnixTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::CreateUnique("verbatim-http-");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(*std::move(folder));
    path_ = (folder_->path() / "s").string();
  }
  bool Exists() const { return std::filesystem::exists(std::filesystem::symlink_status(path_)); }

  std::optional<TemporaryFolder> folder_;
  std::string path_;
};

TEST_F(HttpUnixTest, ServesItsOwnerAndLeavesNothing) {
  {
    TestServer server({.unix_socket = path_});
    EXPECT_EQ(server->address(), "unix:" + path_);
    EXPECT_EQ(server->port(), 0);
    struct stat status{};
    ASSERT_EQ(lstat(path_.c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    RawClient client = RawClient::Unix(path_);
    client.Send(Get("/stream"));
    EXPECT_EQ(client.Receive().body, "one two three");
    client.Send(Get("/hold"));
    EXPECT_EQ(server.Held()->request().peer, "unix");
    client.Close();
    EXPECT_TRUE(Eventually([&] { return server.gone_calls() == 1; }));
  }
  EXPECT_FALSE(Exists());
}

TEST_F(HttpUnixTest, AStaleSocketIsReplacedAndALiveOneIsNot) {
  {
    auto dead = Start({.unix_socket = path_});
    ASSERT_TRUE(dead.ok());
    std::filesystem::rename(path_, path_ + "-moved");  // so that its end doesn't remove it
  }
  std::filesystem::rename(path_ + "-moved", path_);
  ASSERT_TRUE(Exists());
  auto server = Start({.unix_socket = path_});
  ASSERT_TRUE(server.ok()) << server.status().message();
  ExpectFault({.unix_socket = path_}, StatusCode::kIo, "[unix:" + path_ + "]");
  RawClient client = RawClient::Unix(path_);
  client.Send(Get("/"));
  EXPECT_EQ(client.Receive().status, 200);
}

TEST_F(HttpUnixTest, AnEndedServerLeavesItsSuccessorsSocket) {
  auto old = Start({.unix_socket = path_});
  ASSERT_TRUE(old.ok());
  (*old)->Drain();
  EXPECT_FALSE(Exists());
  auto next = Start({.unix_socket = path_});
  ASSERT_TRUE(next.ok());
  old->reset();
  EXPECT_TRUE(Exists());
  std::filesystem::rename(path_, path_ + "-moved");  // somebody else takes the name
  auto last = Start({.unix_socket = path_});
  ASSERT_TRUE(last.ok());
  next->reset();
  EXPECT_TRUE(Exists());
  EXPECT_TRUE(RawClient::Unix(path_).connected());
}

TEST_F(HttpUnixTest, OtherFilesAndBadPathsAreRefused) {
  std::ofstream(path_) << "precious";
  ExpectFault({.unix_socket = path_}, StatusCode::kIo, "a file of another kind");
  EXPECT_TRUE(Exists());
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("elsewhere", path_);
  ExpectFault({.unix_socket = path_}, StatusCode::kIo, "a file of another kind");
  ExpectFault({.unix_socket = path_ + "-none/s"}, StatusCode::kIo, "No such file");
  ExpectFault({.unix_socket = std::string(108, 'x')}, StatusCode::kIo, "at most 107 bytes");
}

TEST(HttpDrain, FinishesWhatIsOpenAndTakesNothingNew) {
  TestServer server;
  RawClient idle = server.Connect();
  idle.Send(Get("/echo"));
  EXPECT_EQ(idle.Receive().status, 200);
  RawClient silent = server.Connect();
  RawClient half = server.Connect();
  half.Send("GET /echo HTTP/1.1\r\n");
  RawClient streaming = server.Connect();
  streaming.Send(Get("/hold"));
  const auto stream = server.Held(0);
  stream->Start(200, {});
  stream->Write("before ");
  EXPECT_TRUE(streaming.Fill());
  RawClient waiting = server.Connect();
  waiting.Send(Get("/hold") + Get("/echo"));
  const auto wait = server.Held(1);
  ASSERT_TRUE(Eventually([&] { return server->stats().connections_open == 5; }));

  server->Drain();
  server->Drain();
  EXPECT_TRUE(idle.Closed());
  EXPECT_TRUE(silent.Closed());
  EXPECT_FALSE(RawClient::Tcp(server->port()).connected());
  EXPECT_FALSE(server->WaitDrained(milliseconds(20)));
  EXPECT_TRUE(stream->Write("after"));
  stream->End();
  const RawResponse streamed = streaming.Receive();
  EXPECT_TRUE(streamed.whole);
  EXPECT_EQ(streamed.body, "before after");
  EXPECT_TRUE(streaming.Closed());
  half.Send("Host: h\r\n\r\n");
  EXPECT_EQ(half.Receive().Header("connection"), "close");
  EXPECT_TRUE(half.Closed());
  EXPECT_FALSE(server->WaitDrained(milliseconds(20)));
  wait->Respond(200, {}, "done");
  EXPECT_TRUE(server->WaitDrained(kPatience));
  const RawResponse waited = waiting.Receive();
  EXPECT_EQ(waited.body, "done");
  EXPECT_EQ(waited.Header("connection"), "close");
  EXPECT_TRUE(waiting.Closed());
  EXPECT_EQ(server.gone_calls(), 0);
}

TEST(HttpDrain, WhatWaitDrainedSawWrittenArrivesAfterTheServersEnd) {
  TestServer server;
  RawClient client = server.Connect();
  client.Send(Get("/hold"));
  const auto exchange = server.Held();
  exchange->Respond(200, {}, std::string(100'000, 'x'));
  server->Drain();
  EXPECT_TRUE(server->WaitDrained(kPatience));
  server.DestroyServer();
  const RawResponse response = client.Receive();
  EXPECT_TRUE(response.whole);
  EXPECT_EQ(response.body.size(), 100'000U);
}

TEST(HttpDrain, NothingOpenIsDrainedAtOnce) {
  TestServer server;
  server->Drain();
  EXPECT_TRUE(server->WaitDrained(kPatience));
}

TEST(HttpEnd, CutsWhatIsOpenAndExchangesOutliveIt) {
  TestServer server({.num_threads = 2});
  std::vector<RawClient> clients;
  std::vector<std::shared_ptr<HttpExchange>> exchanges;
  for (size_t i = 0; i < 8; ++i) {
    clients.push_back(server.Connect());
    clients.back().Send(Get("/hold"));
    exchanges.push_back(server.Held(i));
    if (i % 2 == 0) exchanges.back()->Start(200, {});
  }
  clients.push_back(server.Connect());
  clients.push_back(server.Connect());
  clients.back().Send("GET /");
  std::thread writer([&] {
    while (exchanges[0]->Write("x")) std::this_thread::yield();
  });
  server.DestroyServer();
  writer.join();
  EXPECT_EQ(server.gone_calls(), 8);
  for (const auto& exchange : exchanges) {
    EXPECT_TRUE(exchange->gone());
    EXPECT_FALSE(exchange->Write("x"));
    exchange->Respond(200, {}, "x");
    exchange->End();
    exchange->Abort();
  }
  for (RawClient& client : clients) EXPECT_FALSE(client.Receive().whole);
}

TEST(HttpEnd, AClientThatSentFarAheadIsCutToo) {
  // Its connection neither reads nor writes: nothing but the server's end wakes it.
  TestServer server;
  RawClient client = server.Connect();
  std::string all = Get("/hold");
  for (int i = 0; i < 2000; ++i) all += Get("/echo");
  client.Send(all);
  const auto exchange = server.Held();
  server.DestroyServer();
  EXPECT_TRUE(exchange->gone());
}

TEST(HttpEnd, AHandlersExchangeIsLetGoAtAnyTime) {
  for (int i = 0; i < 50; ++i) {
    TestServer server({.num_threads = 2});
    RawClient client = server.Connect();
    client.Send(Get("/hold"));
    auto exchange = server.Held();
    server.ReleaseHeld();
    std::thread dropper([&] { exchange.reset(); });
    if (i % 2 == 0) client.Close();
    server.DestroyServer();
    dropper.join();
  }
}

}  // namespace
}  // namespace verbatim::serve::testing
