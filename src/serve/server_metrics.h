// ServerMetrics: what /metrics tells, under vLLM's names where vLLM has one. Not the transport's
// own counters (http/http_server.h), which are read when the page is made.
#ifndef VERBATIM_SERVE_SERVER_METRICS_H_
#define VERBATIM_SERVE_SERVER_METRICS_H_

#include <memory>
#include <string>
#include <string_view>

#include "serve/http/http_server.h"
#include "verbatim/engine.h"

namespace verbatim::serve {

// One answer's choice as it went; seconds.
struct ChoiceTimes {
  double queue = 0;
  double prefill = 0;
  double decode = 0;
  double whole = 0;  // from the request's arrival
};

// Thread rule: all methods may be called from any thread.
class ServerMetrics {
 public:
  ServerMetrics(const EngineInfo& info, const std::string& model_name);
  ~ServerMetrics();

  void CountRequest(std::string_view endpoint, int status);
  void ObserveFirstToken(double seconds);
  void ObserveInterToken(double seconds);
  void CountChoice(const Request& request, const Result& result, const ChoiceTimes& times);
  void CountCancelled();

  // In Prometheus' text format.
  std::string Page(const EngineStats& engine, const HttpServerStats& http,
                   double longest_step_seconds);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_SERVER_METRICS_H_
