// What served requests add up to: percentiles, throughput, goodput, errors by kind, and whether two
// arms answered the same. Not the asking (serve_bench.h).
#ifndef VERBATIM_MEASURE_SERVE_STATISTICS_H_
#define VERBATIM_MEASURE_SERVE_STATISTICS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/draft_counts.h"
#include "verbatim/status.h"

namespace verbatim {

// One request as the client saw it. Times are seconds on one clock.
struct ServedRequest {
  int64_t index = 0;                     // in the trace
  double due = 0, sent = 0, ended = 0;   // due: when the trace wanted it sent
  std::vector<double> event_times = {};  // of the events that carried text
  std::string text = {}, reasoning = {}, tool_calls = {};
  std::string error = {};          // its kind, "status 429"; empty: a whole answer
  std::string error_message = {};  // in the server's words
  int64_t completion_tokens = 0;   // of usage; 0: not told
  int64_t prompt_tokens = 0;       // the same
  std::optional<int64_t> cached_tokens = {};
  std::optional<DraftCounts> drafts = {};
  std::vector<int64_t> tested_at = {}, accepted_at = {};  // by position, where told

  bool ok() const { return error.empty(); }
  // Tokens, else events where the server does not count.
  int64_t tokens() const;
  double ttft_ms() const;                 // to the first event with text
  double e2e_ms() const;                  // to the end of the answer
  std::optional<double> tpot_ms() const;  // (last event - first) / (tokens - 1); nothing below two
};

struct Percentiles {
  int64_t n = 0;  // what they are over; all zero for nothing
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};
Percentiles PercentilesOf(std::vector<double> values);

// Limits in ms that a request must keep to count for goodput.
struct ServiceLevel {
  std::optional<double> ttft_ms = {}, tpot_ms = {}, e2e_ms = {};
  bool any() const { return ttft_ms || tpot_ms || e2e_ms; }
  bool Meets(const ServedRequest& request) const;
};
// "ttft:200,tpot:30,e2e:5000", each at most once. kInvalidArgument.
Expected<ServiceLevel> ParseServiceLevel(std::string_view text, std::string_view where);

struct ServeStatistics {
  int64_t requests = 0, succeeded = 0;
  std::map<std::string, int64_t> errors = {};  // by kind
  std::string first_error = {};                // in the server's words
  double elapsed_s = 0;                        // of the whole arm
  Percentiles ttft_ms = {};
  Percentiles inter_event_ms = {};    // between events that carry text: what a reader sees
  Percentiles tpot_ms = {};           // from totals: what a token costs
  Percentiles tokens_per_event = {};  // of each request
  Percentiles e2e_ms = {};
  Percentiles late_ms = {};  // sent behind the trace's time: the client's own fault
  int64_t completion_tokens = 0, prompt_tokens = 0;
  bool tokens_told = true;  // false: some server counts none, and events stand for tokens
  std::optional<int64_t> cached_tokens = {};
  std::optional<DraftCounts> drafts = {};
  bool drafts_from_metrics = false;
  std::vector<int64_t> tested_at = {}, accepted_at = {};
  std::optional<int64_t> good = {};  // requests that meet the service level, if there is one

  double requests_per_s() const { return Rate(static_cast<double>(succeeded)); }
  double tokens_per_s() const { return Rate(static_cast<double>(completion_tokens)); }
  double good_per_s() const { return Rate(static_cast<double>(good.value_or(0))); }

 private:
  double Rate(double count) const { return elapsed_s > 0 ? count / elapsed_s : 0; }
};
ServeStatistics SummarizeServed(std::span<const ServedRequest> served, double elapsed_s,
                                const ServiceLevel& level);

// Two arms over one trace. Answers are equal when text, reasoning and tool calls are.
struct ServedDifference {
  int64_t index = 0;           // of the first request in the trace that differs
  int64_t position = 0;        // bytes into what differs
  std::string what = {};       // "text", "reasoning", "tool calls"
  std::string a = {}, b = {};  // a little of both from there
};
struct ServedComparison {
  int64_t compared = 0;
  int64_t not_compared = 0;  // failed in an arm
  int64_t differing = 0;
  std::optional<ServedDifference> first = {};
  // Figures may be held against each other.
  bool comparable() const { return compared > 0 && not_compared == 0 && differing == 0; }
};
// Both in any order; each index once in each.
ServedComparison CompareServed(std::span<const ServedRequest> a, std::span<const ServedRequest> b);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_SERVE_STATISTICS_H_
