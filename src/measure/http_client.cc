// Boost.Beast over Asio coroutines; the only file that includes them. A connection per request.
#include "measure/http_client.h"

#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

namespace verbatim {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::use_awaitable;
using asio::ip::tcp;

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

  template <typename Stream>
  asio::awaitable<HttpResponse> Talk(Stream& stream, const HttpRequest& request) {
    http::request<http::string_body> message(
        request.body.empty() ? http::verb::get : http::verb::post, url_.path + request.path, 11);
    message.set(http::field::host, url_.host);
    message.set(http::field::user_agent, "verbatim");
    message.set(http::field::accept, "application/json, text/plain");
    if (!request.bearer.empty()) {
      message.set(http::field::authorization, "Bearer " + request.bearer);
    }
    if (!request.body.empty()) {
      message.set(http::field::content_type, "application/json");
      message.body() = request.body;
    }
    message.prepare_payload();
    message.keep_alive(false);
    co_await http::async_write(stream, message, use_awaitable);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(options_.max_body_bytes);
    co_await http::async_read(stream, buffer, parser, use_awaitable);
    co_return HttpResponse{.status = static_cast<int>(parser.get().result_int()),
                           .body = std::move(parser.get().body())};
  }

  asio::awaitable<HttpResponse> Exchange(const HttpRequest& request) {
    const auto executor = co_await asio::this_coro::executor;
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms);
    tcp::resolver resolver(executor);
    const auto addresses = co_await resolver.async_resolve(url_.host, url_.port, use_awaitable);
    if (!url_.tls) {
      beast::tcp_stream stream(executor);
      stream.expires_at(deadline);
      co_await stream.async_connect(addresses, use_awaitable);
      co_return co_await Talk(stream, request);
    }
    asio::ssl::context tls(asio::ssl::context::tls_client);
    tls.set_default_verify_paths();
    tls.set_verify_mode(asio::ssl::verify_peer);
    beast::ssl_stream<beast::tcp_stream> stream(executor, tls);
    stream.set_verify_callback(asio::ssl::host_name_verification(url_.host));
    SSL_set_tlsext_host_name(stream.native_handle(), url_.host.c_str());
    beast::get_lowest_layer(stream).expires_at(deadline);
    co_await beast::get_lowest_layer(stream).async_connect(addresses, use_awaitable);
    co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
    co_return co_await Talk(stream, request);
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
