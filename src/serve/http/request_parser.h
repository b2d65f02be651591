// RequestParser: bytes of a connection become one request, or the reason why not. Does no I/O.
#ifndef VERBATIM_SERVE_HTTP_REQUEST_PARSER_H_
#define VERBATIM_SERVE_HTTP_REQUEST_PARSER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http_server.h"

namespace verbatim::serve {

struct RequestLimits {
  size_t header_bytes = 0;  // request line, headers and the empty line; also one chunk's header
  size_t body_bytes = 0;    // without the framing of chunks
};

struct Refusal {
  int status = 0;       // 400, 413, 414, 415, 417 or 431
  std::string message;  // what was expected and received
  std::vector<HttpHeader> headers = {};
};

// Framing that two servers could read differently is refused: Content-Length twice or beside
// Transfer-Encoding, a coding other than chunked, no digits. Fields behind a chunked body are
// dropped. A compressed body is refused by its header (415).
class RequestParser {
 public:
  enum class State { kHeader, kBody, kDone, kRefused };

  explicit RequestParser(const RequestLimits& limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;

  // Takes bytes from the front and says how many. The rest must come again with more behind it, or,
  // after kDone, belongs to the next request. In kHeader and kBody at most header_bytes stay.
  size_t Feed(std::string_view bytes);

  State state() const;
  const Refusal& refusal() const;  // with kRefused
  // Method, target and headers from kBody on; the body with kDone. With kRefused what was sound
  // until then. request_id and peer stay empty.
  HttpRequest& request();

  // From kBody on.
  bool http10() const;
  bool keep_alive() const;        // the client's wish
  bool expects_continue() const;  // waits for "100 Continue" before it sends the body

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_REQUEST_PARSER_H_
