// WithConnection: a TCP or TLS connection to a URL's host, for the files that speak HTTP over it
// with Boost.Beast. Not HTTP itself. Included by these alone: Beast is a long compile.
#ifndef VERBATIM_MEASURE_HTTP_CONNECTION_INL_H_
#define VERBATIM_MEASURE_HTTP_CONNECTION_INL_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <string>

#include "measure/http_client.h"

namespace verbatim::http_internal {

using Message = boost::beast::http::request<boost::beast::http::string_body>;

// POST with a body, GET without one; a connection per request.
inline Message MakeMessage(const HttpUrl& url, const HttpRequest& request) {
  namespace http = boost::beast::http;
  Message message(request.body.empty() ? http::verb::get : http::verb::post,
                  url.path + request.path, 11);
  const bool v6 = url.host.find(':') != std::string::npos;
  message.set(http::field::host, (v6 ? "[" + url.host + "]" : url.host) + ":" + url.port);
  message.set(http::field::user_agent, "verbatim");
  message.set(http::field::accept, "application/json, text/event-stream, text/plain");
  if (!request.bearer.empty()) {
    message.set(http::field::authorization, "Bearer " + request.bearer);
  }
  if (!request.body.empty()) {
    message.set(http::field::content_type, "application/json");
    message.body() = request.body;
  }
  message.prepare_payload();
  message.keep_alive(false);
  return message;
}

// `talk(stream)` is a coroutine over either kind of stream; all of it must be done by the deadline.
// Throws boost::system::system_error.
template <typename Talk>
boost::asio::awaitable<void> WithConnection(const HttpUrl& url,
                                            std::chrono::steady_clock::time_point deadline,
                                            Talk talk) {
  namespace asio = boost::asio;
  namespace beast = boost::beast;
  using asio::use_awaitable;
  const auto executor = co_await asio::this_coro::executor;
  asio::ip::tcp::resolver resolver(executor);
  const auto addresses = co_await resolver.async_resolve(url.host, url.port, use_awaitable);
  if (!url.tls) {
    beast::tcp_stream stream(executor);
    stream.expires_at(deadline);
    co_await stream.async_connect(addresses, use_awaitable);
    stream.socket().set_option(asio::ip::tcp::no_delay(true));
    co_await talk(stream);
    co_return;
  }
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.set_default_verify_paths();
  tls.set_verify_mode(asio::ssl::verify_peer);
  beast::ssl_stream<beast::tcp_stream> stream(executor, tls);
  stream.set_verify_callback(asio::ssl::host_name_verification(url.host));
  SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
  beast::get_lowest_layer(stream).expires_at(deadline);
  co_await beast::get_lowest_layer(stream).async_connect(addresses, use_awaitable);
  co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
  co_await talk(stream);
}

}  // namespace verbatim::http_internal

#endif  // VERBATIM_MEASURE_HTTP_CONNECTION_INL_H_
