// A trace: which prompts a server is asked, and when. A function of its options and prompts. Not
// the asking (serve_bench.h).
#ifndef VERBATIM_MEASURE_SERVE_TRACE_H_
#define VERBATIM_MEASURE_SERVE_TRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/flip_prompts.h"

namespace verbatim {

struct TraceOptions {
  int64_t requests = 64;
  double rate = 0;        // requests per second, Poisson arrivals; 0: as answers end, with no times
  double duration_s = 0;  // no arrivals after it; 0: all requests
  double shared_prefix = 0;    // share of the requests that begin with one common text, 0 to 1
  int64_t prefix_words = 256;  // of that text
  uint64_t seed = 0;
};

struct TraceRequest {
  double at_s = 0;     // since the trace's begin; 0 without a rate
  int64_t prompt = 0;  // index of the prompt it is made of
  bool shared_prefix = false;
  // What is sent: as in FlipPrompt, with the prefix, if it has it. The prompts come in a random
  // order, all of them before one comes again; then with its round in front, "[2] ", as a prefix
  // cache would know the whole of it otherwise.
  std::string text = {};
  std::string messages_json = {};  // empty: text is the one message
};

// `prompts` has at least one.
std::vector<TraceRequest> MakeTrace(const TraceOptions& options,
                                    std::span<const FlipPrompt> prompts);

// Words of the program's own prompts, in order and from the start again: what shared prefixes are.
std::string SharedPrefix(int64_t words);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_SERVE_TRACE_H_
