// Boost.Beast over Asio coroutines, one per request, on one thread: a clock is read right where
// bytes arrive.
#include "measure/http_streams.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "measure/http_connection-inl.h"

namespace verbatim {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::use_awaitable;
using Clock = std::chrono::steady_clock;

// How often Run looks at `stop`.
constexpr std::chrono::milliseconds kPoll{50};
// Of an answer of another status than 200: an error object, or a proxy's page.
constexpr size_t kMaxErrorBytes = size_t{64} << 10;
constexpr size_t kPieceBytes = size_t{16} << 10;

class BeastStreams final : public HttpStreams {
 public:
  BeastStreams(HttpUrl url, HttpOptions options)
      : url_(std::move(url)), options_(std::move(options)) {}

  double Now() const override {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  void At(double at, std::function<void()> call) override {
    const auto due =
        start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at));
    asio::co_spawn(context_, Wait(due, std::move(call)), asio::detached);
  }

  void Send(HttpRequest request, OnBytes on_bytes, OnEnd on_end) override {
    asio::co_spawn(context_, Answer(std::move(request), std::move(on_bytes), std::move(on_end)),
                   asio::detached);
  }

  Status Run() override {
    context_.restart();
    while (!context_.stopped()) {
      context_.run_for(kPoll);
      if (!context_.stopped() && options_.stop && options_.stop()) {
        return MakeError(StatusCode::kCancelled, url_.host, "answers", "a request to stop");
      }
    }
    return {};
  }

 private:
  asio::awaitable<void> Wait(Clock::time_point due, std::function<void()> call) {
    asio::steady_timer timer(context_, due);
    co_await timer.async_wait(use_awaitable);
    call();
  }

  asio::awaitable<void> Answer(HttpRequest request, OnBytes on_bytes, OnEnd on_end) {
    HttpResponse response;
    boost::system::error_code fault;
    try {
      const http_internal::Message message = http_internal::MakeMessage(url_, request);
      const auto talk = [&](auto& stream) -> asio::awaitable<void> {
        co_await http::async_write(stream, message, use_awaitable);
        co_await Read(stream, on_bytes, response);
      };
      co_await http_internal::WithConnection(
          url_, Clock::now() + std::chrono::milliseconds(options_.timeout_ms), talk);
    } catch (const boost::system::system_error& error) {
      fault = error.code();
    }
    if (fault) {
      on_end(Fault(fault));
    } else {
      on_end(std::move(response));
    }
  }

  template <typename Stream>
  asio::awaitable<void> Read(Stream& stream, const OnBytes& on_bytes, HttpResponse& response) {
    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(options_.max_body_bytes);
    co_await http::async_read_header(stream, buffer, parser, use_awaitable);
    response.status = static_cast<int>(parser.get().result_int());
    std::array<char, kPieceBytes> piece;
    while (!parser.is_done()) {
      auto& body = parser.get().body();
      body.data = piece.data();
      body.size = piece.size();
      boost::system::error_code code;
      co_await http::async_read_some(stream, buffer, parser,
                                     asio::redirect_error(use_awaitable, code));
      if (code && code != http::error::need_buffer) throw boost::system::system_error(code);
      const std::string_view bytes(piece.data(), piece.size() - body.size);
      if (response.status == 200) {
        if (!bytes.empty()) on_bytes(bytes);
      } else {
        response.body += bytes.substr(0, kMaxErrorBytes - response.body.size());
      }
    }
  }

  Status Fault(const boost::system::error_code& code) const {
    const std::string name = fmt::format("{}:{}", url_.host, url_.port);
    if (code == beast::error::timeout) {
      return MakeError(StatusCode::kIo, name,
                       fmt::format("an answer within {} s", options_.timeout_ms / 1000), "none",
                       "a larger --timeout or fewer --max-tokens");
    }
    return MakeError(
        StatusCode::kIo, name, "an HTTP server that answers", code.message(),
        code == asio::error::connection_refused ? "to start the server, or another port" : "");
  }

  HttpUrl url_;
  HttpOptions options_;
  asio::io_context context_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

std::unique_ptr<HttpStreams> MakeHttpStreams(HttpUrl url, HttpOptions options) {
  return std::make_unique<BeastStreams>(std::move(url), std::move(options));
}

}  // namespace verbatim
