// HttpStreams: many requests to one server at a time, each answer given piece by piece as it comes,
// on one thread. Not what is asked and when (serve_bench.h).
#ifndef VERBATIM_MEASURE_HTTP_STREAMS_H_
#define VERBATIM_MEASURE_HTTP_STREAMS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "measure/http_client.h"
#include "verbatim/status.h"

namespace verbatim {

// Thread rule: everything is called, and calls back, on the thread that calls Run.
class HttpStreams {
 public:
  using OnBytes = std::function<void(std::string_view bytes)>;
  // Once, at the end of an answer. Any status is an answer; the body is there unless it is 200,
  // whose bytes went to OnBytes. Errors: those of HttpClient::Send.
  using OnEnd = std::function<void(Expected<HttpResponse> response)>;

  virtual ~HttpStreams() = default;
  // Seconds since the object was made.
  virtual double Now() const = 0;
  // Calls back from Run when Now() is at least `at`.
  virtual void At(double at, std::function<void()> call) = 0;
  // Sends at once if called from a callback, else when Run begins.
  virtual void Send(HttpRequest request, OnBytes on_bytes, OnEnd on_end) = 0;
  // Until nothing is waited for. kCancelled: HttpOptions::stop.
  virtual Status Run() = 0;
};

std::unique_ptr<HttpStreams> MakeHttpStreams(HttpUrl url, HttpOptions options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_HTTP_STREAMS_H_
