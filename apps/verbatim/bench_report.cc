// Three renderings of the same figures.
#include "apps/verbatim/bench_report.h"

#include <fmt/format.h>

#include "apps/verbatim/bench_tables.h"
#include "apps/verbatim/json_writer.h"

namespace verbatim::cli {
namespace {

std::string Conditions(const BenchReport& report) {
  return fmt::format("{} {}, {} thread{}, {}; {}; {} interleaved round{}, medians and quartiles",
                     report.info.backend, report.info.target, report.info.num_threads,
                     report.info.num_threads == 1 ? "" : "s", report.info.numerics,
                     report.info.weight_types, report.rounds, report.rounds == 1 ? "" : "s");
}

constexpr std::string_view kLimitNote =
    "limit: the longer of the bytes of weights over the bandwidth and the vector operations over "
    "their peaks, all measured in this run";

void WriteSummary(std::string_view key, const Summary& summary, JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("median").Double(summary.median);
  json.Key("low").Double(summary.low).Key("high").Double(summary.high);
  json.Key("count").Integer(summary.count).EndObject();
}

void WriteTimed(const Timed& timed, JsonWriter& json) {
  WriteSummary("ms", timed.ms, json);
  json.Key("bytes").Double(timed.work.bytes);
  json.Key("limit_ms").Double(1000 * timed.limit.seconds());
  json.Key("memory_limit_ms").Double(1000 * timed.limit.memory_s);
  json.Key("compute_limit_ms").Double(1000 * timed.limit.compute_s);
  json.Key("of_limit").Double(timed.Share());
  json.Key("bound_by").String(timed.limit.bound());
}

void WriteRead(std::string_view key, const BandwidthResult& read, JsonWriter& json) {
  json.Key(key).BeginObject();
  WriteSummary("bytes_per_second", read.bytes_per_s, json);
  json.Key("threads").Integer(read.setting.threads);
  json.Key("streams").Integer(read.setting.streams);
  json.Key("buffer_bytes").Integer(read.bytes).EndObject();
}

void WriteDecode(std::string_view key, const DecodeSpeed& decode, JsonWriter& json) {
  json.Key(key).BeginObject();
  WriteSummary("tokens_per_second", decode.tokens_per_s, json);
  WriteSummary("speedup", decode.speedup, json);
  json.Key("drafts_tested").Integer(decode.stats.tested);
  json.Key("drafts_accepted").Integer(decode.stats.accepted);
  json.Key("steps").Integer(decode.stats.rounds);
  json.Key("per_token").BeginObject();
  WriteTimed(decode.per_token, json);
  json.EndObject().EndObject();
}

void WriteAnatomy(std::string_view key, const Anatomy& anatomy, JsonWriter& json) {
  json.Key(key).BeginObject().Key("parts").BeginArray();
  for (const PartTime& part : anatomy.parts) {
    json.BeginObject().Key("part").String(PartName(part.part));
    WriteTimed(part.timed, json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("matrices").BeginObject();
  WriteTimed(anatomy.matrices, json);
  json.EndObject();
  WriteSummary("wall_ms", anatomy.wall_ms, json);
  WriteSummary("outside_ms", anatomy.outside_ms, json);
  WriteSummary("outside_share", anatomy.outside_share, json);
  json.EndObject();
}

void WriteMachine(const BenchReport& report, JsonWriter& json) {
  json.Key("machine").BeginObject();
  WriteRead("memory", report.memory, json);
  if (report.cache) WriteRead("cache", *report.cache, json);
  WriteSummary("fma_per_second", report.fmas_per_s, json);
  json.Key("dots_per_second").BeginArray();
  for (const auto& [bits, rate] : report.dots_per_s) {
    json.BeginObject().Key("bits").Integer(bits);
    WriteSummary("rate", rate, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

std::string BenchText(const BenchReport& report, std::string_view source) {
  return fmt::format("{}\n{}\n{}\n", source, Conditions(report), kLimitNote) +
         TablesText(BenchTables(report));
}

std::string BenchMarkdown(const BenchReport& report, std::string_view source) {
  return fmt::format("### {}\n\n{}. {}.\n", source, Conditions(report), kLimitNote) +
         TablesMarkdown(BenchTables(report));
}

std::string BenchJson(const BenchReport& report, std::string_view source) {
  JsonWriter json;
  json.BeginObject();
  json.Key("source").String(source);
  json.Key("model").BeginObject();
  json.Key("weight_types").String(report.info.weight_types);
  json.Key("weight_bytes").Integer(report.info.weight_bytes);
  json.Key("numerics").String(report.info.numerics);
  json.Key("target").String(report.info.target);
  json.Key("threads").Integer(report.info.num_threads);
  json.EndObject();
  json.Key("rounds").Integer(report.rounds);
  json.Key("decode_tokens").Integer(report.decode_tokens);
  json.Key("draft_tokens").Integer(report.draft_tokens);
  json.Key("outputs_equal").Bool(true);
  WriteMachine(report, json);
  json.Key("prefill").BeginObject().Key("tokens").Integer(report.prompt_tokens);
  WriteTimed(report.prefill, json);
  json.EndObject();
  json.Key("rows").BeginArray();
  for (const Timed& rows : report.rows) {
    json.BeginObject();
    WriteTimed(rows, json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("decode").BeginObject();
  WriteDecode("classic", report.classic, json);
  if (report.mtp) WriteDecode("mtp", *report.mtp, json);
  WriteDecode("perfect_drafter_upper_bound", report.perfect, json);
  json.EndObject();
  WriteAnatomy("step", report.step, json);
  json.Key("blocks").BeginObject();
  for (const auto& [rows, anatomy] : report.blocks) {
    WriteAnatomy(fmt::format("{}", rows), anatomy, json);
  }
  json.EndObject();
  if (report.drafter) WriteAnatomy("drafter", *report.drafter, json);
  json.EndObject();
  return json.Take();
}

}  // namespace verbatim::cli
