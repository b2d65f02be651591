// One table: a row for each arm, a column for each mode.
#include "apps/verbatim/mode_report.h"

#include <fmt/format.h>

#include "apps/verbatim/bench_tables.h"
#include "apps/verbatim/json_writer.h"

namespace verbatim::cli {
namespace {

std::string Conditions(const ModeReport& report) {
  const EngineInfo& exact = report.modes[0].info;
  const EngineInfo& greedy = report.modes[1].info;
  return fmt::format(
      "exact: {} {}, {}; greedy: {}, {}; {} thread{}; {}; {} interleaved round{}, medians and "
      "quartiles",
      exact.backend, exact.target, exact.numerics, greedy.backend, greedy.numerics,
      exact.num_threads, exact.num_threads == 1 ? "" : "s", exact.weight_types, report.rounds,
      report.rounds == 1 ? "" : "s");
}

std::string Value(const Summary& summary, int digits) {
  return fmt::format("{:.{}f} ({:.{}f}..{:.{}f})", summary.median, digits, summary.low, digits,
                     summary.high, digits);
}

// A sentence on two outputs.
std::string Agree(std::string_view what, const Agreement& agreement) {
  if (agreement.equal_tokens < agreement.tokens) {
    return fmt::format("{}: token ids differ from token {} of {} on.", what,
                       agreement.equal_tokens + 1, agreement.tokens);
  }
  return fmt::format("{}: {} token ids equal, logits {}.", what, agreement.tokens,
                     agreement.equal_logits ? "equal bit for bit" : "not equal bit for bit");
}

BenchTable CostTable(const ModeReport& report) {
  const ModeSpeed& exact = report.modes[0];
  const ModeSpeed& greedy = report.modes[1];
  BenchTable table{.title = "Cost of exactness",
                   .notes = {fmt::format(
                       "The cost is the time in exact mode over the time in greedy mode, round "
                       "by round: below 1, exact is the faster one. A step reads {:.1f} MB of "
                       "weights in exact mode and {:.1f} MB in greedy mode.",
                       static_cast<double>(exact.info.weight_bytes) / 1e6,
                       static_cast<double>(greedy.info.weight_bytes) / 1e6)},
                   .header = {"what", "exact", "greedy", "cost"},
                   .rows = {}};
  table.rows.push_back({fmt::format("prefill of {} tokens, ms", report.prompt_tokens),
                        Value(exact.prefill_ms, 2), Value(greedy.prefill_ms, 2),
                        Value(report.prefill_cost, 2)});
  table.rows.push_back({"classic decode, tokens/s", Value(exact.classic_tokens_per_s, 1),
                        Value(greedy.classic_tokens_per_s, 1), Value(report.classic_cost, 2)});
  table.notes.push_back(Agree("Classic decode, exact against greedy", report.classic_agreement));
  if (!report.mtp_cost) return table;
  table.rows.push_back({fmt::format("MTP with {} drafts, tokens/s", report.draft_tokens),
                        Value(*exact.mtp_tokens_per_s, 1), Value(*greedy.mtp_tokens_per_s, 1),
                        Value(*report.mtp_cost, 2)});
  table.rows.push_back({"MTP over classic decode", Value(*exact.mtp_speedup, 2),
                        Value(*greedy.mtp_speedup, 2), "-"});
  const auto accepted = [](const SpeculationStats& stats) {
    return fmt::format("{} of {}", stats.accepted, stats.tested);
  };
  table.rows.push_back(
      {"drafts accepted", accepted(exact.mtp_stats), accepted(greedy.mtp_stats), "-"});
  table.notes.push_back(Agree("MTP against classic decode, exact", exact.mtp_agreement));
  table.notes.push_back(Agree("MTP against classic decode, greedy", greedy.mtp_agreement));
  return table;
}

void WriteSummary(std::string_view key, const Summary& summary, JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("median").Double(summary.median);
  json.Key("low").Double(summary.low).Key("high").Double(summary.high);
  json.Key("count").Integer(summary.count).EndObject();
}

void WriteAgreement(std::string_view key, const Agreement& agreement, JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("tokens").Integer(agreement.tokens);
  json.Key("equal_tokens").Integer(agreement.equal_tokens);
  json.Key("equal_logits").Bool(agreement.equal_logits).EndObject();
}

void WriteMode(const ModeSpeed& speed, JsonWriter& json) {
  json.Key(ContractModeName(speed.info.contract_held)).BeginObject();
  json.Key("reason").String(speed.info.contract_reason);
  json.Key("backend").String(speed.info.backend);
  json.Key("numerics").String(speed.info.numerics);
  json.Key("weight_bytes").Integer(speed.info.weight_bytes);
  WriteSummary("prefill_ms", speed.prefill_ms, json);
  WriteSummary("classic_tokens_per_second", speed.classic_tokens_per_s, json);
  if (speed.mtp_tokens_per_s) {
    WriteSummary("mtp_tokens_per_second", *speed.mtp_tokens_per_s, json);
    WriteSummary("mtp_speedup", *speed.mtp_speedup, json);
    json.Key("drafts_tested").Integer(speed.mtp_stats.tested);
    json.Key("drafts_accepted").Integer(speed.mtp_stats.accepted);
    WriteAgreement("mtp_against_classic", speed.mtp_agreement, json);
  }
  json.EndObject();
}

}  // namespace

std::string ModeText(const ModeReport& report, std::string_view source) {
  const BenchTable table = CostTable(report);
  return fmt::format("{}\n{}\n", source, Conditions(report)) + TablesText({&table, 1});
}

std::string ModeMarkdown(const ModeReport& report, std::string_view source) {
  const BenchTable table = CostTable(report);
  return fmt::format("### {}\n\n{}.\n", source, Conditions(report)) + TablesMarkdown({&table, 1});
}

std::string ModeJson(const ModeReport& report, std::string_view source) {
  const EngineInfo& info = report.modes[0].info;
  JsonWriter json;
  json.BeginObject();
  json.Key("source").String(source);
  json.Key("weight_types").String(info.weight_types);
  json.Key("target").String(info.target);
  json.Key("threads").Integer(info.num_threads);
  json.Key("rounds").Integer(report.rounds);
  json.Key("prompt_tokens").Integer(report.prompt_tokens);
  json.Key("decode_tokens").Integer(report.decode_tokens);
  json.Key("draft_tokens").Integer(report.draft_tokens);
  json.Key("modes").BeginObject();
  for (const ModeSpeed& speed : report.modes) WriteMode(speed, json);
  json.EndObject();
  WriteAgreement("classic_exact_against_greedy", report.classic_agreement, json);
  json.Key("cost_of_exactness").BeginObject();
  WriteSummary("prefill", report.prefill_cost, json);
  WriteSummary("classic", report.classic_cost, json);
  if (report.mtp_cost) WriteSummary("mtp", *report.mtp_cost, json);
  json.EndObject().EndObject();
  return json.Take();
}

}  // namespace verbatim::cli
