// ServerCore: what the connections of a server share: options, counts, threads' work. Included by
// http_server.cc alone, with Asio; not by others.
#ifndef VERBATIM_SERVE_HTTP_SERVER_CORE_INL_H_
#define VERBATIM_SERVE_HTTP_SERVER_CORE_INL_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "serve/http/http_server.h"

namespace verbatim::serve {

namespace asio = boost::asio;

class Connection;

// What all connections share. Outlives them: each holds it.
struct ServerCore {
  ServerCore(const HttpServerOptions& server_options, HttpServer::Handler server_handler,
             HttpServer::MakeErrorResponse server_make_error)
      : options(server_options),
        handler(std::move(server_handler)),
        make_error(std::move(server_make_error)),
        context(options.num_threads) {}

  HttpServer::Error ErrorFor(const HttpRequest& request, int status,
                             std::string_view message) const {
    HttpServer::Error error;
    try {
      error = make_error(request, status, message);
    } catch (...) {
      error = {.headers = {}, .body = "{}"};
    }
    error.headers.push_back({"Content-Type", "application/json"});
    return error;
  }

  const HttpServerOptions options;
  const HttpServer::Handler handler;
  const HttpServer::MakeErrorResponse make_error;
  asio::io_context context;
  const std::shared_ptr<std::atomic<bool>> draining = std::make_shared<std::atomic<bool>>(false);

  std::mutex mutex;
  std::condition_variable fewer;  // `unfinished` went down
  bool stopping = false;
  std::unordered_map<Connection*, std::weak_ptr<Connection>> connections;
  int unfinished = 0;   // connections that may still have to write
  int turned_away = 0;  // those that get a 503

  std::atomic<size_t> body_bytes = 0;  // of requests that are being received
  std::atomic<int64_t> connections_total = 0;
  std::atomic<int64_t> requests_total = 0;
  std::atomic<int64_t> refused_total = 0;
  std::atomic<int64_t> clients_gone_total = 0;
  std::atomic<int64_t> slow_readers_cut_total = 0;
};

// For a handler that never answers. The body stays out: it is the handler's, and may be large.
inline std::function<HttpServer::Error()> DroppedError(std::shared_ptr<const ServerCore> core,
                                                       const HttpRequest& request) {
  HttpRequest outline = {.method = request.method,
                         .path = request.path,
                         .query = {},
                         .headers = request.headers,
                         .body = {},
                         .request_id = request.request_id,
                         .peer = request.peer};
  return [core = std::move(core), outline = std::move(outline)] {
    return core->ErrorFor(outline, 500, "expected an answer of the server, received none");
  };
}

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_SERVER_CORE_INL_H_
