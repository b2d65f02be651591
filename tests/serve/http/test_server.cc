// The handler of the transport's tests.
#include "tests/serve/http/test_server.h"

#include <fmt/format.h>

#include <stdexcept>
#include <thread>
#include <utility>

namespace verbatim::serve::testing {

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::string Get(std::string_view path, std::string_view headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: test\r\n{}\r\n", path, headers);
}

std::string Post(std::string_view path, std::string_view body, std::string_view headers) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n{}\r\n{}", path,
                     body.size(), headers, body);
}

TestServer::TestServer(HttpServerOptions options) {
  auto server = HttpServer::Start(
      options, [this](std::shared_ptr<HttpExchange> exchange) { Handle(std::move(exchange)); },
      [](const HttpRequest& request, int status, std::string_view message) {
        return HttpServer::Error{
            .headers = {{"X-Error-Path", request.path},
                        {"X-Error-Origin", std::string(request.Header("origin"))},
                        {"X-Error-Id", request.request_id}},
            .body = fmt::format(R"({{"status":{},"message":"{}"}})", status, message)};
      });
  EXPECT_TRUE(server.ok()) << server.status().message();
  server_ = *std::move(server);
  server_->Begin();
}

TestServer::~TestServer() {
  server_.reset();
  ReleaseHeld();
}

void TestServer::Handle(std::shared_ptr<HttpExchange> exchange) {
  const HttpRequest& request = exchange->request();
  const std::vector<HttpHeader> plain = {{"Content-Type", "text/plain"}};
  if (request.path == "/echo") {
    exchange->Respond(
        200, plain,
        fmt::format("{} {}?{} {}", request.method, request.path, request.query, request.body));
  } else if (request.path == "/hold") {
    exchange->OnGone([this] { ++gone_calls_; });
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(exchange));
    more_.notify_all();
  } else if (request.path == "/throw") {
    throw std::runtime_error("a handler's fault");
  } else if (request.path == "/drop") {
    exchange.reset();
  } else if (request.path == "/stream") {
    exchange->Start(200, plain);
    for (const char* part : {"one", " two", " three"}) exchange->Write(part);
    exchange->End();
  } else if (request.path == "/stream-drop") {
    exchange->Start(200, plain);
    exchange->Write("part");
  } else {
    exchange->Respond(404, plain, "no " + request.path);
  }
}

std::shared_ptr<HttpExchange> TestServer::Held(size_t index) {
  std::unique_lock lock(mutex_);
  const bool there = more_.wait_for(lock, kPatience, [&] { return held_.size() > index; });
  EXPECT_TRUE(there);
  return there ? held_[index] : nullptr;
}

void TestServer::ReleaseHeld() {
  const std::lock_guard lock(mutex_);
  held_.clear();
}

}  // namespace verbatim::serve::testing
