// RunServeBench: an OpenAI-compatible server driven with a trace, alone or against another arm over
// the same trace. Not the trace (serve_trace.h), and not what its answers add up to
// (serve_statistics.h).
#ifndef VERBATIM_MEASURE_SERVE_BENCH_H_
#define VERBATIM_MEASURE_SERVE_BENCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/completion_server.h"
#include "measure/flip_prompts.h"
#include "measure/http_client.h"
#include "measure/http_streams.h"
#include "measure/serve_statistics.h"
#include "measure/serve_trace.h"
#include "measure/statistics.h"
#include "verbatim/status.h"

namespace verbatim {

struct ServeArm {
  std::string name = {};  // "baseline"
  HttpUrl url = {};       // of what is above /v1
  std::string fields =
      {};  // a JSON object: fields of its requests over the common ones; empty: none
};

struct ServeBenchOptions {
  std::vector<ServeArm> arms = {};  // one, or two to compare
  TraceOptions trace = {};
  // Without a rate: so many requests run at a time, the next one begins as one ends. With one: the
  // most that run at a time, later ones wait (and are late); 0: no bound.
  int concurrency = 1;
  // Two arms: the trace is cut into as many parts, of which one arm runs one, then the other the
  // same one, and first the other in every second round.
  int rounds = 4;
  Endpoint endpoint = Endpoint::kChat;
  int64_t max_tokens = 128;
  std::string model = {};    // empty: the first that each arm lists
  std::string api_key = {};  // empty: none
  int64_t timeout_ms = 300'000;
  ServiceLevel level = {};
  std::vector<FlipPrompt> prompts = {};
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
  std::function<bool()> stop = {};                                              // may be empty
  // What speaks HTTP; tests put something else here.
  std::function<std::unique_ptr<HttpStreams>(const HttpUrl& url, const HttpOptions& options)>
      make_streams = {};
  std::function<std::unique_ptr<HttpClient>(const HttpUrl& url, const HttpOptions& options)>
      make_client = {};
};

struct ServeArmReport {
  std::string name = {};
  std::string model = {};
  std::vector<ServedRequest> served = {};
  ServeStatistics statistics = {};
  std::vector<double> round_rates = {};  // [rounds] output tokens per second
};

struct ServeReport {
  std::vector<ServeArmReport> arms = {};
  std::optional<ServedComparison> comparison = {};  // of two arms
  // How many times as many tokens per second the first arm made as the second, over the rounds:
  // one slow moment of the machine moves a total, but no median. All zero without a comparison.
  Summary round_ratio = {};
};

// The body of one request: everything but the key.
std::string ServeRequestBody(const ServeBenchOptions& options, const ServeArm& arm,
                             const std::string& model, const TraceRequest& request);

// Takes one event's data into the request; `now` on the clock of its times. False: it was the last
// ("[DONE]") or an error, which is then noted.
bool TakeServeEvent(std::string_view data, double now, ServedRequest& request);

// Answers that fail are part of the report. Errors: kIo (an arm that can't be reached before it is
// measured), kCancelled, kInvalidArgument.
Expected<ServeReport> RunServeBench(const ServeBenchOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_SERVE_BENCH_H_
