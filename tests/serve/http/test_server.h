// TestServer: an HttpServer whose handler answers by path, and keeps what it is told to keep. Not a
// test.
#ifndef VERBATIM_TESTS_SERVE_HTTP_TEST_SERVER_H_
#define VERBATIM_TESTS_SERVE_HTTP_TEST_SERVER_H_

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http_server.h"
#include "tests/serve/http/raw_client.h"

namespace verbatim::serve::testing {

// Polls until it is true; kPatience at most.
bool Eventually(const std::function<bool()>& condition);

std::string Get(std::string_view path, std::string_view headers = "");
std::string Post(std::string_view path, std::string_view body, std::string_view headers = "");

// "/echo": "METHOD path?query body". "/hold": keeps the exchange (Held). "/throw" throws, "/drop"
// lets go of it. "/stream": three parts. "/stream-drop": starts, writes, lets go. Others: 404.
class TestServer {
 public:
  explicit TestServer(HttpServerOptions options = {});
  ~TestServer();

  HttpServer& operator*() { return *server_; }
  HttpServer* operator->() { return server_.get(); }
  RawClient Connect(int receive_buffer = 0) {
    return RawClient::Tcp(server_->port(), "127.0.0.1", receive_buffer);
  }
  // The exchange number `index` of /hold; waits for it.
  std::shared_ptr<HttpExchange> Held(size_t index = 0);
  void ReleaseHeld();
  void DestroyServer() { server_.reset(); }
  int gone_calls() const { return gone_calls_; }  // OnGone of held ones

 private:
  void Handle(std::shared_ptr<HttpExchange> exchange);

  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::shared_ptr<HttpExchange>> held_;
  std::atomic<int> gone_calls_ = 0;
  std::unique_ptr<HttpServer> server_;  // ends first
};

}  // namespace verbatim::serve::testing

#endif  // VERBATIM_TESTS_SERVE_HTTP_TEST_SERVER_H_
