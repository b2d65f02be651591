// Boost.Beast over Asio coroutines. A connection per request.
#include "measure/http_client.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "measure/http_connection-inl.h"

namespace verbatim {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::use_awaitable;

// How often a request that waits looks at `stop`.
constexpr std::chrono::milliseconds kPoll{50};

Status UrlFault(std::string_view where, std::string_view received) {
  return MakeError(StatusCode::kInvalidArgument, where, "http://HOST[:PORT][/PATH]", received,
                   "http://127.0.0.1:8080");
}

class BeastClient : public HttpClient {
 public:
  BeastClient(HttpUrl url, HttpOptions options)
      : url_(std::move(url)), options_(std::move(options)) {}

  Expected<HttpResponse> Send(const HttpRequest& request) override {
    asio::io_context context;
    std::optional<Expected<HttpResponse>> outcome;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
          try {
            outcome.emplace(co_await Exchange(request));
          } catch (const boost::system::system_error& error) {
            outcome.emplace(Fault(error.code()));
          }
        },
        asio::detached);
    while (!context.stopped()) {
      context.run_for(kPoll);
      if (!outcome && options_.stop && options_.stop()) {
        return MakeError(StatusCode::kCancelled, Name(), "an answer", "a request to stop");
      }
    }
    if (outcome) return *std::move(outcome);
    return MakeError(StatusCode::kInternal, Name(), "an answer", "none");
  }

 private:
  std::string Name() const {
    const bool v6 = url_.host.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}", url_.tls ? "https" : "http", v6 ? "[" : "", url_.host,
                       v6 ? "]" : "", url_.port);
  }

  Status Fault(const boost::system::error_code& code) const {
    if (code == http::error::body_limit) {
      return MakeError(StatusCode::kResourceExhausted, Name(),
                       fmt::format("an answer of at most {} bytes", options_.max_body_bytes),
                       "a longer one", "fewer --tokens");
    }
    if (code == beast::error::timeout) {
      return MakeError(StatusCode::kIo, Name(),
                       fmt::format("an answer within {} s", options_.timeout_ms / 1000), "none",
                       "a larger --timeout or fewer --tokens");
    }
    const bool refused = code == asio::error::connection_refused;
    return MakeError(StatusCode::kIo, Name(), "an HTTP server that answers", code.message(),
                     refused ? "to start the server, or another port" : "");
  }

  asio::awaitable<HttpResponse> Exchange(const HttpRequest& request) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms);
    const http_internal::Message message = http_internal::MakeMessage(url_, request);
    http::response_parser<http::string_body> parser;
    parser.body_limit(options_.max_body_bytes);
    const auto talk = [&](auto& stream) -> asio::awaitable<void> {
      co_await http::async_write(stream, message, use_awaitable);
      beast::flat_buffer buffer;
      co_await http::async_read(stream, buffer, parser, use_awaitable);
    };
    co_await http_internal::WithConnection(url_, deadline, talk);
    co_return HttpResponse{.status = static_cast<int>(parser.get().result_int()),
                           .body = std::move(parser.get().body())};
  }

  HttpUrl url_;
  HttpOptions options_;
};

}  // namespace

Expected<HttpUrl> ParseHttpUrl(std::string_view text, std::string_view where) {
  HttpUrl url;
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    url.tls = true;
  } else {
    return UrlFault(where, text);
  }
  const size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (text.find_first_of(" \t\r\n?#@") != std::string_view::npos) return UrlFault(where, text);
  url.port = url.tls ? "443" : "80";
  const size_t bracket = authority.find(']');
  const size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    const std::string_view port = authority.substr(colon + 1);
    int number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535) {
      return UrlFault(where, text);
    }
    url.port = port;
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']')) {
    authority = authority.substr(1, authority.size() - 2);
  }
  if (authority.empty()) return UrlFault(where, text);
  url.host = authority;
  return url;
}

std::unique_ptr<HttpClient> MakeHttpClient(HttpUrl url, HttpOptions options) {
  return std::make_unique<BeastClient>(std::move(url), std::move(options));
}

}  // namespace verbatim
