// Their table, and what they mean for the measurement.
#include "apps/verbatim/bench_serve_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/mapped_file.h"
#include "measure/flip_prompts.h"

namespace verbatim::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTraceSection = "Trace";
constexpr std::string_view kServerSection = "Server";
constexpr std::string_view kArmSection = "Two arms";
constexpr std::string_view kOutputSection = "Output";
// A trace is in memory, prompts and all.
constexpr int64_t kMaxRequests = 100'000;
constexpr double kMaxRate = 10'000;        // per second: beyond what one thread sends
constexpr double kMaxDuration = 86400;     // a day
constexpr int64_t kMaxConcurrency = 1024;  // sockets, of which a process has as many by default
constexpr int64_t kMaxPrefixWords = 100'000;
constexpr int64_t kMaxTokens = 65536;
constexpr int64_t kMaxSeed = int64_t{1} << 62;
constexpr int64_t kMaxTimeout = 86400;
constexpr size_t kMaxPromptBytes = size_t{64} << 20;
constexpr size_t kMaxKeyBytes = 4096;

OptionSpec Option(OptionSpec option) {
  option.verbs.assign(1, Verb::kBenchServe);  // GCC 12 warns of the list
  return option;
}

std::vector<OptionSpec> TraceOptionSpecs() {
  return {
      Option({.name = "rate",
              .kind = ValueKind::kDecimal,
              .value_name = "PER_SECOND",
              .least = 0.001,
              .most = kMaxRate,
              .section = kTraceSection,
              .help = "Poisson arrivals at this rate; without it the next request begins as one "
                      "ends"}),
      Option({.name = "concurrency",
              .aliases = {"max-concurrency"},
              .kind = ValueKind::kInteger,
              .value_name = "N",
              .min = 1,
              .max = kMaxConcurrency,
              .section = kTraceSection,
              .help = "Requests that run at a time, at most; default 1, with --rate no bound"}),
      Option({.name = "requests",
              .aliases = {"num-prompts"},
              .kind = ValueKind::kInteger,
              .value_name = "N",
              .min = 1,
              .max = kMaxRequests,
              .section = kTraceSection,
              .help = "Requests in all; default 64, with --duration as many as fit"}),
      Option({.name = "duration",
              .kind = ValueKind::kDecimal,
              .value_name = "SECONDS",
              .least = 0.001,
              .most = kMaxDuration,
              .section = kTraceSection,
              .help = "No request begins after it; those that run are waited for"}),
      Option({.name = "prompts",
              .kind = ValueKind::kText,
              .value_name = "FILE",
              .section = kTraceSection,
              .help = "Prompts instead of the 28 of the program: JSON Lines with text, prompt or "
                      "messages, or plain text with lines of --- between them"}),
      Option({.name = "shared-prefix",
              .kind = ValueKind::kDecimal,
              .value_name = "SHARE",
              .least = 0,
              .most = 1,
              .default_value = "0",
              .section = kTraceSection,
              .help = "Share of the requests that begin with one common text, from 0 to 1"}),
      Option({.name = "prefix-words",
              .kind = ValueKind::kInteger,
              .value_name = "N",
              .min = 1,
              .max = kMaxPrefixWords,
              .default_value = "256",
              .section = kTraceSection,
              .help = "Words of that text, a system message of a chat"}),
      Option({.name = "max-tokens",
              .letter = 'n',
              .aliases = {"tokens", "n-predict"},
              .kind = ValueKind::kInteger,
              .value_name = "N",
              .min = 1,
              .max = kMaxTokens,
              .default_value = "128",
              .section = kTraceSection,
              .help = "Tokens of an answer, at most"}),
      Option({.name = "seed",
              .kind = ValueKind::kInteger,
              .value_name = "N",
              .min = 0,
              .max = kMaxSeed,
              .default_value = "0",
              .section = kTraceSection,
              .help = "Of the trace, and what requests carry"}),
      Option({.name = "slo",
              .kind = ValueKind::kText,
              .value_name = "LIST",
              .section = kTraceSection,
              .help = "Limits that a request must keep to count for goodput, in ms: "
                      "ttft:MS,tpot:MS,e2e:MS"}),
  };
}

std::vector<OptionSpec> ServerOptionSpecs() {
  return {
      Option({.name = "URL",
              .kind = ValueKind::kText,
              .value_name = "URL",
              .positional = true,
              .section = kServerSection,
              .help = "An OpenAI-compatible server, http or https"}),
      Option({.name = "endpoint",
              .kind = ValueKind::kWord,
              .value_name = "chat|completions",
              .words = {{"chat", "chat"}, {"completions", "completions"}},
              .default_value = "chat",
              .section = kServerSection,
              .help = "Where prompts go"}),
      Option({.name = "model-name",
              .kind = ValueKind::kText,
              .value_name = "NAME",
              .section = kServerSection,
              .help = "The model to ask for; without it the first that the server lists"}),
      Option({.name = "api-key-file",
              .kind = ValueKind::kText,
              .value_name = "FILE",
              .section = kServerSection,
              .help = "The first line of this file is sent as a bearer token"}),
      Option({.name = "set",
              .kind = ValueKind::kText,
              .value_name = "KEY=VALUE",
              .repeated = true,
              .section = kServerSection,
              .help = "A field of every request, e.g. temperature=0.8; may be repeated"}),
      Option({.name = "timeout",
              .kind = ValueKind::kInteger,
              .value_name = "SECONDS",
              .min = 1,
              .max = kMaxTimeout,
              .default_value = "300",
              .section = kServerSection,
              .help = "Time for one answer"}),
      Option({.name = "against",
              .kind = ValueKind::kText,
              .value_name = "URL",
              .section = kArmSection,
              .help = "A second server for the same trace; both take turns, and ratios are printed "
                      "only if their answers are equal"}),
      Option({.name = "arm",
              .kind = ValueKind::kText,
              .value_name = "KEY=VALUE",
              .repeated = true,
              .section = kArmSection,
              .help = "The same, but requests of the second arm have this field, e.g. "
                      "speculation=off; may be repeated, and stand beside --against"}),
      Option({.name = "rounds",
              .kind = ValueKind::kInteger,
              .value_name = "N",
              .min = 1,
              .max = 1000,
              .default_value = "4",
              .section = kArmSection,
              .help = "Parts of the trace, in each of which both arms run, every second time the "
                      "other one first"}),
      Option({.name = "html",
              .kind = ValueKind::kText,
              .value_name = "FILE",
              .section = kOutputSection,
              .help = "Also write the report as a page"}),
  };
}

// What closed loops and rates may need in a time; the duration ends them.
int64_t RequestsFor(double duration_s, double rate, int64_t concurrency) {
  constexpr double kAnswersPerSecond = 100;  // of one connection: 10 ms each
  const double expected = rate > 0
                              ? 2 * rate * duration_s + 100
                              : kAnswersPerSecond * duration_s * static_cast<double>(concurrency);
  return std::clamp(static_cast<int64_t>(std::min(expected, 1e9)), int64_t{1}, kMaxRequests);
}

Expected<std::string> ReadKey(const std::string& path) {
  VERBATIM_ASSIGN_OR_RETURN(std::string key, ReadTextFile(path, kMaxKeyBytes));
  key.resize(std::min(key.size(), key.find_first_of("\r\n")));
  const bool printable = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 127; });
  if (key.empty() || !printable) {
    return MakeError(StatusCode::kInvalidArgument, "--api-key-file",
                     "a key of printable ASCII in the first line of " + path,
                     key.empty() ? "nothing" : "other characters");
  }
  return key;
}

Status ReadArms(const CommandLine& line, ServeBenchOptions& options) {
  VERBATIM_ASSIGN_OR_RETURN(const HttpUrl url, ParseHttpUrl(line.Text("URL"), "URL"));
  const std::vector<std::string> common = line.Texts("set");
  VERBATIM_ASSIGN_OR_RETURN(const std::string fields, ParseFields(common, "--set"));
  options.arms.push_back({.name = line.Text("URL"), .url = url, .fields = fields});
  const std::vector<std::string> own = line.Texts("arm");
  if (!line.Given("against") && own.empty()) return {};
  VERBATIM_RETURN_IF_ERROR(ParseFields(own, "--arm").status());
  ServeArm second = options.arms.front();
  if (line.Given("against")) {
    VERBATIM_ASSIGN_OR_RETURN(second.url, ParseHttpUrl(line.Text("against"), "--against"));
    second.name = line.Text("against");
  }
  std::vector<std::string> all = common;
  all.insert(all.end(), own.begin(), own.end());  // the later of two fields of one name counts
  VERBATIM_ASSIGN_OR_RETURN(second.fields, ParseFields(all, "--arm"));
  if (!own.empty()) second.name = fmt::format("{}", fmt::join(own, " "));
  options.arms.push_back(std::move(second));
  return {};
}

}  // namespace

std::vector<OptionSpec> BenchServeOptionSpecs() {
  std::vector<OptionSpec> all = TraceOptionSpecs();
  for (OptionSpec& option : ServerOptionSpecs()) all.push_back(std::move(option));
  return all;
}

Expected<std::string> ParseFields(const std::vector<std::string>& assignments,
                                  std::string_view where) {
  if (assignments.empty()) return std::string();
  ordered_json fields = ordered_json::object();
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return MakeError(StatusCode::kInvalidArgument, where, "KEY=VALUE", assignment,
                       fmt::format("{} speculation=off", where));
    }
    const std::string text = assignment.substr(equals + 1);
    const ordered_json value = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    fields[assignment.substr(0, equals)] = value.is_discarded() ? ordered_json(text) : value;
  }
  return fields.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Expected<ServeBenchOptions> ReadBenchServe(const CommandLine& line) {
  if (line.Given("json") && line.Given("markdown")) {
    return MakeError(StatusCode::kInvalidArgument, "--markdown", "no --json beside it", "both",
                     "verbatim bench serve --help");
  }
  ServeBenchOptions options;
  VERBATIM_RETURN_IF_ERROR(ReadArms(line, options));
  if (line.Given("rounds") && options.arms.size() < 2) {
    return MakeError(StatusCode::kInvalidArgument, "--rounds", "--against or --arm beside it",
                     "neither", "verbatim bench serve --help");
  }
  TraceOptions& trace = options.trace;
  if (line.Given("rate")) trace.rate = line.Value("rate").decimal;
  if (line.Given("duration")) trace.duration_s = line.Value("duration").decimal;
  const int64_t unbounded = trace.rate > 0 ? 0 : 1;
  options.concurrency =
      static_cast<int>(line.Given("concurrency") ? line.Number("concurrency") : unbounded);
  constexpr int64_t kDefaultRequests = 64;
  trace.requests = line.Given("requests") ? line.Number("requests")
                   : line.Given("duration")
                       ? RequestsFor(trace.duration_s, trace.rate, options.concurrency)
                       : kDefaultRequests;
  trace.shared_prefix = line.Value("shared-prefix").decimal;
  trace.prefix_words = line.Number("prefix-words");
  trace.seed = static_cast<uint64_t>(line.Number("seed"));
  if (options.arms.size() == 2 && trace.duration_s > 0 && trace.rate == 0) {
    return MakeError(StatusCode::kInvalidArgument, "--duration",
                     "--requests or --rate where two arms must run the same requests",
                     "a closed loop", "--requests 64");
  }
  options.rounds = static_cast<int>(line.Number("rounds"));
  options.endpoint = line.Text("endpoint") == "chat" ? Endpoint::kChat : Endpoint::kCompletions;
  options.max_tokens = line.Number("max-tokens");
  options.model = line.Text("model-name");
  options.timeout_ms = 1000 * line.Number("timeout");
  if (line.Given("slo")) {
    VERBATIM_ASSIGN_OR_RETURN(options.level, ParseServiceLevel(line.Text("slo"), "--slo"));
  }
  if (line.Given("api-key-file")) {
    VERBATIM_ASSIGN_OR_RETURN(options.api_key, ReadKey(line.Text("api-key-file")));
  }
  options.prompts = DefaultFlipPrompts();
  if (line.Given("prompts")) {
    const std::string& path = line.Text("prompts");
    VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxPromptBytes));
    VERBATIM_ASSIGN_OR_RETURN(options.prompts, ParseFlipPrompts(text, path));
  }
  return options;
}

}  // namespace verbatim::cli
