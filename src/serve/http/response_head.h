// ResponseHead: status line and headers as bytes. No body.
#ifndef VERBATIM_SERVE_HTTP_RESPONSE_HEAD_H_
#define VERBATIM_SERVE_HTTP_RESPONSE_HEAD_H_

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http/http_server.h"

namespace verbatim::serve {

enum class BodyFraming { kLength, kChunked, kUntilClose, kNone };

struct ResponseFacts {
  BodyFraming framing = BodyFraming::kNone;
  uint64_t content_length = 0;  // with kLength
  bool http10 = false;
  bool keep_alive = false;
  std::string_view request_id = {};
};

// Framing, Connection, Date, Server and x-request-id are written here: a handler's headers of those
// names are left out, and so are headers whose name is no token. A value's control characters
// become spaces: nothing that it says can start a new line.
std::string ResponseHead(int status, const std::vector<HttpHeader>& headers,
                         const ResponseFacts& facts);

// RFC 9110 5.6.7, e.g. "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(std::time_t time);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_RESPONSE_HEAD_H_
