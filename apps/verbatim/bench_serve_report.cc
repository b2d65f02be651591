// Ratios only over equal answers: otherwise they would compare the times of different work.
#include "apps/verbatim/bench_serve_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/verbatim/flip_report.h"
#include "apps/verbatim/json_writer.h"
#include "measure/statistics.h"

namespace verbatim::cli {
namespace {

// Three significant digits, at least.
std::string Digits(double value) {
  const int decimals = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::vector<std::string> Row(std::string name, const Percentiles& of) {
  if (of.n == 0) return {std::move(name), "0", "-", "-", "-", "-", "-"};
  return {std::move(name), Grouped(of.n),  Digits(of.mean), Digits(of.p50),
          Digits(of.p90),  Digits(of.p95), Digits(of.p99)};
}

// "70 % of 120 tested"; the positions where they are told.
std::string Acceptance(const ServeStatistics& of) {
  if (!of.drafts) return "not told";
  if (of.drafts->drafted == 0) return "no drafts";
  std::string text = fmt::format(
      "{} of {} drafted, {}{}", Grouped(of.drafts->accepted), Grouped(of.drafts->drafted),
      Percent(static_cast<double>(of.drafts->accepted) / static_cast<double>(of.drafts->drafted)),
      of.drafts_from_metrics ? " (of /metrics)" : "");
  for (size_t i = 0; i < std::min(of.tested_at.size(), of.accepted_at.size()); ++i) {
    if (of.tested_at[i] == 0) continue;
    text += fmt::format(
        "{}{:.0f}", i == 0 ? "; by position, %: " : " ",
        100.0 * static_cast<double>(of.accepted_at[i]) / static_cast<double>(of.tested_at[i]));
  }
  return text;
}

std::string Errors(const ServeStatistics& of) {
  std::string text;
  for (const auto& [kind, count] : of.errors) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, kind);
  }
  return text.empty() ? "none" : text;
}

std::string Limits(const ServiceLevel& level) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::optional<double>& ms) {
    if (ms) text += fmt::format("{}{} at most {} ms", text.empty() ? "" : ", ", name, *ms);
  };
  add("TTFT", level.ttft_ms);
  add("TPOT", level.tpot_ms);
  add("end to end", level.e2e_ms);
  return text;
}

PageTable LatencyTable(const ServeArmReport& arm) {
  const ServeStatistics& of = arm.statistics;
  PageTable table = {
      .title = fmt::format("Latency, ms: {}", arm.name),
      .header = {"what", "n", "mean", "p50", "p90", "p95", "p99"},
      .rows = {Row("time to first token", of.ttft_ms), Row("time per output token", of.tpot_ms),
               Row("between events", of.inter_event_ms), Row("end to end", of.e2e_ms),
               Row("tokens per event", of.tokens_per_event), Row("sent behind time", of.late_ms)},
      .notes = {"Time per output token is of totals, request by request; events are "
                "what a client sees, and carry several tokens where drafts were "
                "accepted."}};
  if (!of.tokens_told) {
    table.notes.emplace_back("The server counts no tokens (usage): events stand for them.");
  }
  return table;
}

std::vector<std::vector<std::string>> TotalRows(const ServeStatistics& of,
                                                const ServiceLevel& level) {
  std::vector<std::vector<std::string>> rows = {
      {"requests answered", fmt::format("{} of {}", Grouped(of.succeeded), Grouped(of.requests))},
      {"errors", Errors(of)},
      {"time", fmt::format("{} s", Digits(of.elapsed_s))},
      {"requests per second", Digits(of.requests_per_s())},
      {"output tokens", Grouped(of.completion_tokens)},
      {"output tokens per second", Digits(of.tokens_per_s())},
      {"drafts accepted", Acceptance(of)},
      {"prompt tokens from a cache",
       of.cached_tokens
           ? fmt::format("{} of {}", Grouped(*of.cached_tokens), Grouped(of.prompt_tokens))
           : "not told"}};
  if (of.good) {
    rows.push_back(
        {fmt::format("goodput ({})", Limits(level)),
         fmt::format("{} requests, {} per second", Grouped(*of.good), Digits(of.good_per_s()))});
  }
  return rows;
}

PageTable TotalsTable(const ServeReport& report, const ServiceLevel& level) {
  PageTable table = {.title = "Totals", .header = {"what"}, .rows = {}};
  for (const ServeArmReport& arm : report.arms) {
    table.header.push_back(report.arms.size() == 1 ? "value" : arm.name);
    const auto rows = TotalRows(arm.statistics, level);
    if (table.rows.empty()) {
      table.rows = rows;
      continue;
    }
    for (size_t i = 0; i < rows.size(); ++i) table.rows[i].push_back(rows[i].back());
  }
  return table;
}

struct Ratio {
  std::string_view name, key;
  double first = 0, second = 0;  // times, or rates
  bool rate = false;             // larger is better
  // How many times better the first arm is.
  double value() const { return rate ? first / second : second / first; }
  bool known() const { return first > 0 && second > 0; }
};

std::vector<Ratio> Ratios(const ServeReport& report) {
  const ServeStatistics& a = report.arms[0].statistics;
  const ServeStatistics& b = report.arms[1].statistics;
  return {
      {"output tokens per second, all", "tokens_per_s", a.tokens_per_s(), b.tokens_per_s(), true},
      {"time per output token, p50", "tpot_ms_p50", a.tpot_ms.p50, b.tpot_ms.p50},
      {"time to first token, p50", "ttft_ms_p50", a.ttft_ms.p50, b.ttft_ms.p50},
      {"end to end, p50", "e2e_ms_p50", a.e2e_ms.p50, b.e2e_ms.p50},
      {"end to end, p99", "e2e_ms_p99", a.e2e_ms.p99, b.e2e_ms.p99},
  };
}

PageTable RatioTable(const ServeReport& report) {
  PageTable table = {.title = "Compared, over equal answers",
                     .header = {"what", report.arms[0].name, report.arms[1].name,
                                "first over second, above 1: first is better"},
                     .rows = {}};
  const Summary& rounds = report.round_ratio;
  table.rows.push_back(
      {fmt::format("output tokens per second, median of {} rounds", rounds.count),
       Digits(Summarize(report.arms[0].round_rates).median),
       Digits(Summarize(report.arms[1].round_rates).median),
       fmt::format("{:.3f} times ({:.3f} to {:.3f})", rounds.median, rounds.low, rounds.high)});
  for (const Ratio& ratio : Ratios(report)) {
    if (!ratio.known()) continue;
    table.rows.push_back({std::string(ratio.name), Digits(ratio.first), Digits(ratio.second),
                          fmt::format("{:.3f} times", ratio.value())});
  }
  return table;
}

Finding ComparisonFinding(const ServedComparison& found) {
  if (found.comparable()) {
    return {Tone::kGood, fmt::format("The answers of both arms are equal, {} of {}.",
                                     found.compared, found.compared)};
  }
  if (found.first) {
    return {Tone::kBad,
            fmt::format("{} of {} answers differ, so times are not compared; first in request {}, "
                        "{} from byte {}: {} against {}.",
                        found.differing, found.compared, found.first->index + 1, found.first->what,
                        found.first->position, Quoted(found.first->a), Quoted(found.first->b))};
  }
  return {Tone::kWarning, fmt::format("{} requests have no answer in one of the arms, so times are "
                                      "not compared.",
                                      found.not_compared)};
}

std::vector<std::string> Conditions(const ServeReport& report, const ServeBenchOptions& options) {
  const TraceOptions& trace = options.trace;
  std::string load =
      trace.rate > 0 ? fmt::format("Poisson arrivals, {} per second", trace.rate) : "closed loop";
  if (options.concurrency > 0) load += fmt::format(", at most {} at a time", options.concurrency);
  if (trace.duration_s > 0) load += fmt::format(", for {} s", trace.duration_s);
  std::vector<std::string> lines = {
      fmt::format("model {}, {}", report.arms[0].model,
                  options.endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions"),
      fmt::format("{}; {} requests over {} prompts, at most {} tokens each, seed {}", load,
                  report.arms[0].statistics.requests, options.prompts.size(), options.max_tokens,
                  trace.seed)};
  if (trace.shared_prefix > 0) {
    lines.push_back(fmt::format("a common prefix of {} words before {} of the requests",
                                trace.prefix_words, Percent(trace.shared_prefix)));
  }
  for (const ServeArm& arm : options.arms) {
    if (!arm.fields.empty()) lines.push_back(fmt::format("{}: with {}", arm.name, arm.fields));
  }
  return lines;
}

void WritePercentiles(std::string_view key, const Percentiles& of, JsonWriter& json) {
  json.Key(key).BeginObject().Key("n").Integer(of.n);
  json.Key("mean").Rounded(of.mean).Key("p50").Rounded(of.p50).Key("p90").Rounded(of.p90);
  json.Key("p95").Rounded(of.p95).Key("p99").Rounded(of.p99).EndObject();
}

void WriteArm(const ServeArmReport& arm, const ServeArm& asked, JsonWriter& json) {
  const ServeStatistics& of = arm.statistics;
  json.BeginObject().Key("name").String(arm.name).Key("model").String(arm.model);
  json.Key("fields").String(asked.fields);
  json.Key("requests").Integer(of.requests).Key("succeeded").Integer(of.succeeded);
  json.Key("errors").BeginObject();
  for (const auto& [kind, count] : of.errors) json.Key(kind).Integer(count);
  json.EndObject();
  json.Key("first_error").String(of.first_error);
  json.Key("elapsed_s").Rounded(of.elapsed_s);
  json.Key("requests_per_s").Rounded(of.requests_per_s());
  json.Key("completion_tokens").Integer(of.completion_tokens);
  json.Key("tokens_told").Bool(of.tokens_told);
  json.Key("tokens_per_s").Rounded(of.tokens_per_s());
  json.Key("prompt_tokens").Integer(of.prompt_tokens);
  json.Key("cached_tokens");
  of.cached_tokens ? json.Integer(*of.cached_tokens) : json.Null();
  WritePercentiles("ttft_ms", of.ttft_ms, json);
  WritePercentiles("tpot_ms", of.tpot_ms, json);
  WritePercentiles("inter_event_ms", of.inter_event_ms, json);
  WritePercentiles("tokens_per_event", of.tokens_per_event, json);
  WritePercentiles("e2e_ms", of.e2e_ms, json);
  WritePercentiles("late_ms", of.late_ms, json);
  json.Key("goodput");
  if (of.good) {
    json.BeginObject().Key("requests").Integer(*of.good);
    json.Key("per_s").Rounded(of.good_per_s()).EndObject();
  } else {
    json.Null();
  }
  json.Key("drafts");
  if (of.drafts) {
    json.BeginObject().Key("drafted").Integer(of.drafts->drafted);
    json.Key("accepted").Integer(of.drafts->accepted);
    json.Key("from_metrics").Bool(of.drafts_from_metrics);
    json.Key("tested_at").Integers(std::span<const int64_t>(of.tested_at));
    json.Key("accepted_at").Integers(std::span<const int64_t>(of.accepted_at));
    json.EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
}

void WriteComparison(const ServeReport& report, JsonWriter& json) {
  const ServedComparison& found = *report.comparison;
  json.Key("comparison").BeginObject();
  json.Key("compared").Integer(found.compared).Key("not_compared").Integer(found.not_compared);
  json.Key("differing").Integer(found.differing).Key("first_difference");
  if (found.first) {
    json.BeginObject().Key("request").Integer(found.first->index);
    json.Key("what").String(found.first->what).Key("byte").Integer(found.first->position);
    json.Key("first").String(found.first->a).Key("second").String(found.first->b).EndObject();
  } else {
    json.Null();
  }
  json.Key("ratios");
  if (found.comparable()) {
    json.BeginObject();
    for (const Ratio& ratio : Ratios(report)) {
      if (ratio.known()) json.Key(ratio.key).Double(ratio.value());
    }
    const Summary& rounds = report.round_ratio;
    json.Key("tokens_per_s_of_rounds").BeginObject().Key("n").Integer(rounds.count);
    json.Key("median").Double(rounds.median).Key("low").Double(rounds.low);
    json.Key("high").Double(rounds.high).EndObject();
    json.EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
}

}  // namespace

Page ServePage(const ServeReport& report, const ServeBenchOptions& options) {
  const ServeStatistics& first = report.arms[0].statistics;
  Page page = {
      .title = fmt::format("Server {}", report.arms[0].name),
      .headline = fmt::format("{} output tokens per second", Digits(first.tokens_per_s())),
      .caption = fmt::format("over {} answers in {} s", first.succeeded, Digits(first.elapsed_s)),
      .tone = first.errors.empty() ? Tone::kPlain : Tone::kWarning,
      .conditions = Conditions(report, options)};
  for (const ServeArmReport& arm : report.arms) {
    if (arm.statistics.errors.empty()) continue;
    page.findings.push_back(
        {Tone::kWarning, fmt::format("{}: {}; first: {}", arm.name, Errors(arm.statistics),
                                     arm.statistics.first_error)});
  }
  if (report.comparison) {
    page.findings.push_back(ComparisonFinding(*report.comparison));
    if (report.comparison->comparable()) {
      page.headline =
          fmt::format("{:.3f} times as many tokens per second", report.round_ratio.median);
      page.caption =
          fmt::format("as with {}, median of {} rounds, over {} equal answers", report.arms[1].name,
                      report.round_ratio.count, report.comparison->compared);
      page.tables.push_back(RatioTable(report));
    } else {
      page.tone = Tone::kBad;
    }
  }
  page.tables.push_back(TotalsTable(report, options.level));
  for (const ServeArmReport& arm : report.arms) page.tables.push_back(LatencyTable(arm));
  return page;
}

std::string ServeJson(const ServeReport& report, const ServeBenchOptions& options) {
  JsonWriter json;
  const TraceOptions& trace = options.trace;
  json.BeginObject().Key("trace").BeginObject();
  json.Key("rate").Double(trace.rate).Key("concurrency").Integer(options.concurrency);
  json.Key("duration_s").Double(trace.duration_s).Key("prompts");
  json.Integer(static_cast<int64_t>(options.prompts.size()));
  json.Key("shared_prefix").Double(trace.shared_prefix);
  json.Key("prefix_words").Integer(trace.prefix_words);
  json.Key("max_tokens").Integer(options.max_tokens);
  json.Key("seed").Integer(static_cast<int64_t>(trace.seed));
  json.Key("endpoint").String(options.endpoint == Endpoint::kChat ? "chat" : "completions");
  json.Key("rounds").Integer(options.rounds).EndObject();
  json.Key("arms").BeginArray();
  for (size_t i = 0; i < report.arms.size(); ++i) WriteArm(report.arms[i], options.arms[i], json);
  json.EndArray();
  if (report.comparison) WriteComparison(report, json);
  return json.EndObject().Take();
}

}  // namespace verbatim::cli
