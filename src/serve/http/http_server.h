// HttpServer: HTTP/1.1 over TCP or a Unix socket, with limits and time limits for everything that a
// client can be slow or hostile with. Not what is served: a handler decides that.
#ifndef VERBATIM_SERVE_HTTP_HTTP_SERVER_H_
#define VERBATIM_SERVE_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verbatim/status.h"

namespace verbatim::serve {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  std::string method;               // "GET", ...
  std::string path;                 // percent-decoded, without the query
  std::string query;                // behind '?', as sent
  std::vector<HttpHeader> headers;  // as sent
  std::string body;
  std::string request_id;  // the client's x-request-id if it is harmless, else a new one
  std::string peer;        // for logs: address and port, or "unix"
  // The first header of that name, any case; empty: none.
  std::string_view Header(std::string_view name) const;
};

// One request and its response. Thread rule: all methods may be called from any thread; calls after
// the client has gone, the response has ended or the server was destroyed do nothing. Letting go of
// it without an answer sends 500; after Start and without End, it aborts.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;

  // The whole response at once, however large. Content-Length, Connection, Date, Server and
  // x-request-id are added; headers of those names are left out, and control characters in values
  // become spaces.
  virtual void Respond(int status, std::vector<HttpHeader> headers, std::string body) = 0;

  // A response in parts (chunked). Start, any number of Write, then End; or Abort, which cuts the
  // connection so that the client sees that the response is not whole.
  virtual void Start(int status, std::vector<HttpHeader> headers) = 0;
  // False: the client has gone, or was cut because its buffer was full for too long.
  virtual bool Write(std::string part) = 0;
  virtual void End() = 0;
  virtual void Abort() = 0;

  // Called once, from some thread, if the client goes away (or is cut, or the server is destroyed)
  // before the response has ended; at once if it has gone already. Noticed while nothing is being
  // written, too, unless the client has sent 16 KiB of further requests. A client that closes its
  // sending side has gone, too: from here that looks the same as a close.
  virtual void OnGone(std::function<void()> callback) = 0;
  virtual bool gone() const = 0;
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // name or address; not used with unix_socket
  int port = 0;                    // 0: any free one (port() tells)
  std::string unix_socket = {};  // path, mode 0600; a stale one is replaced, a live one is an error
  size_t max_header_bytes = size_t{32} << 10;
  size_t max_body_bytes = size_t{32} << 20;
  // Of all requests that are being received, together; a further part gets 503.
  size_t max_total_body_bytes = size_t{256} << 20;
  int max_connections = 1024;                        // further ones get 503 and are closed
  std::chrono::milliseconds header_timeout{10'000};  // from the first byte (or the connection)
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{75'000};   // between requests of one connection
  std::chrono::milliseconds write_timeout{30'000};  // no byte taken by the client for so long
  size_t max_write_buffer = size_t{4} << 20;        // per connection, beyond that it is cut
  int num_threads = 1;
};

// What the transport answered itself, for metrics and logs.
struct HttpServerStats {
  int64_t connections_open = 0;
  int64_t connections_total = 0;
  int64_t requests_total = 0;      // handed to the handler
  int64_t refused_total = 0;       // malformed, too large, too slow, too many
  int64_t clients_gone_total = 0;  // before their response had ended
  int64_t slow_readers_cut_total = 0;
};

class HttpServer {
 public:
  // A response that the transport makes itself; without Content-Type and Retry-After.
  struct Error {
    std::vector<HttpHeader> headers = {};
    std::string body = {};  // application/json
  };

  // Runs on the server's threads and must not block for long. The exchange may be kept.
  using Handler = std::function<void(std::shared_ptr<HttpExchange>)>;
  // For a status of the transport itself (400, 408, 413, 414, 415, 417, 431, 500, 503), called once
  // for each. Of `request` there is what had come and was sound: maybe nothing but the id.
  using MakeErrorResponse =
      std::function<Error(const HttpRequest& request, int status, std::string_view message)>;

  // Binds and listens; clients wait until Begin. A name with several addresses is served on all
  // that this machine has. Errors: kIo with the address and the system's reason (in use, no such
  // host, no permission), kInvalidArgument (no host, port out of range), kResourceExhausted (no
  // threads).
  static Expected<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                     Handler handler, MakeErrorResponse make_error);
  // Stops.
  virtual ~HttpServer() = default;

  // Serves; once. Apart from Start, so that a handler can find what Start's caller made of it.
  virtual void Begin() = 0;
  // Cuts what is open and joins the threads: not from a handler or a callback. No handler runs
  // behind it, and all other methods stay usable. Again: nothing.
  virtual void Stop() = 0;

  virtual std::string address() const = 0;  // "http://127.0.0.1:8080" or "unix:/path"
  virtual int port() const = 0;             // 0 for a Unix socket
  virtual HttpServerStats stats() const = 0;

  // No new connections, and connections close after their response. Returns at once.
  virtual void Drain() = 0;
  // After Drain: true when all responses have ended and everything was written; waits at most
  // `limit` for it. A request that is half received counts until its own time limit.
  virtual bool WaitDrained(std::chrono::milliseconds limit) = 0;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_HTTP_SERVER_H_
