// HttpClient: one request to one server, http or https, with a time limit. Not a server, no
// redirects, no streams.
#ifndef VERBATIM_MEASURE_HTTP_CLIENT_H_
#define VERBATIM_MEASURE_HTTP_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim {

struct HttpUrl {
  bool tls = false;
  std::string host = {};  // without brackets
  std::string port = {};
  std::string path = {};  // "" or "/..." without a slash at the end
};

// http:// or https://, host, [:port], [/path]. `where` names the option. kInvalidArgument.
Expected<HttpUrl> ParseHttpUrl(std::string_view text, std::string_view where);

struct HttpRequest {
  std::string path = {};    // behind the URL's
  std::string body = {};    // JSON, sent with POST; empty: GET
  std::string bearer = {};  // the API key; empty: none
};

struct HttpResponse {
  int status = 0;
  std::string body = {};
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Any status is a response. Errors: kIo (nobody there, time ran out, connection lost, no HTTP,
  // certificate refused), kResourceExhausted (a body beyond the limit), kCancelled.
  virtual Expected<HttpResponse> Send(const HttpRequest& request) = 0;
};

struct HttpOptions {
  int64_t timeout_ms = 300'000;                  // of a whole request; long answers of large models
  uint64_t max_body_bytes = uint64_t{64} << 20;  // 4096 tokens with 20 alternatives each are 8 MiB
  std::function<bool()> stop = {};  // may be empty; true ends a request with kCancelled
};

std::unique_ptr<HttpClient> MakeHttpClient(HttpUrl url, HttpOptions options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_HTTP_CLIENT_H_
