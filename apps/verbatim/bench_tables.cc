// Figures with as many digits as they deserve: medians, quartiles, shares of the limit.
#include "apps/verbatim/bench_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

namespace verbatim::cli {
namespace {

// Three significant digits, at least.
std::string Digits(double value) {
  const int decimals = value < 1 ? 4 : value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string Spread(const Summary& summary, double scale = 1) {
  return fmt::format("{}..{}", Digits(scale * summary.low), Digits(scale * summary.high));
}

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Nothing is bound by weights that a part does not have.
std::vector<std::string> LimitCells(const Timed& timed) {
  if (timed.limit.seconds() == 0) return {"-", "-", "-"};
  return {Digits(1000 * timed.limit.seconds()), Percent(timed.Share()), timed.limit.bound()};
}

void Append(std::vector<std::string>* row, std::vector<std::string> cells) {
  for (std::string& cell : cells) row->push_back(std::move(cell));
}

std::string Setting(const BandwidthResult& read) {
  return fmt::format("{} thread{}, {} stream{}, over {:.1f} MB", read.setting.threads,
                     read.setting.threads == 1 ? "" : "s", read.setting.streams,
                     read.setting.streams == 1 ? "" : "s", static_cast<double>(read.bytes) / 1e6);
}

BenchTable MachineTable(const BenchReport& report) {
  BenchTable table{.title = "Machine",
                   .notes = {},
                   .header = {"what", "median", "quartiles", "unit", "how"},
                   .rows = {}};
  const auto add = [&](std::string what, const Summary& summary, double scale, std::string unit,
                       std::string how) {
    table.rows.push_back({std::move(what), Digits(scale * summary.median), Spread(summary, scale),
                          std::move(unit), std::move(how)});
  };
  add("read bandwidth", report.memory.bytes_per_s, 1e-9, "GB/s", Setting(report.memory));
  if (report.cache) {
    add("read bandwidth, cache", report.cache->bytes_per_s, 1e-9, "GB/s", Setting(*report.cache));
    table.notes.emplace_back(
        "The weights of a step fit into the last-level cache: the limits take the cache's "
        "bandwidth where it is the higher one.");
  }
  const std::string threads =
      fmt::format("{} thread{}", report.info.num_threads, report.info.num_threads == 1 ? "" : "s");
  add("binary32 fma", report.fmas_per_s, 1e-9, "G/s of 16 lanes", threads);
  for (const auto& [bits, rate] : report.dots_per_s) {
    add(fmt::format("int8 dot, {}-bit weights", bits), rate, 1e-9, "G/s of 16 outputs x 4 values",
        threads);
  }
  return table;
}

BenchTable StepTable(const BenchReport& report) {
  BenchTable table{
      .title = "Steps",
      .notes = {fmt::format("A step runs all layers over its rows and chooses a token per row, "
                            "after a prompt of {} tokens.",
                            report.decode_prompt_tokens)},
      .header = {"step", "ms", "quartiles", "of one row", "MB read", "limit ms", "of limit",
                 "bound by"},
      .rows = {}};
  const auto add = [&](std::string name, const Timed& timed, std::string relative) {
    std::vector<std::string> row = {std::move(name), Digits(timed.ms.median), Spread(timed.ms),
                                    std::move(relative),
                                    fmt::format("{:.1f}", timed.work.bytes / 1e6)};
    Append(&row, LimitCells(timed));
    table.rows.push_back(std::move(row));
  };
  add(fmt::format("prefill, {} tokens", report.prompt_tokens), report.prefill, "-");
  for (size_t i = 0; i < report.rows.size(); ++i) {
    add(fmt::format("{} row{}", i + 1, i == 0 ? "" : "s"), report.rows[i],
        fmt::format("{:.2f}", report.rows[i].ms.median / report.rows[0].ms.median));
  }
  return table;
}

std::string Accepted(const SpeculationStats& stats) {
  if (stats.tested == 0) return "-";
  return fmt::format(
      "{} of {} ({})", stats.accepted, stats.tested,
      Percent(static_cast<double>(stats.accepted) / static_cast<double>(stats.tested)));
}

BenchTable DecodeTable(const BenchReport& report) {
  BenchTable table{
      .title = "Decode",
      .notes = {fmt::format("{} tokens; token ids and logits of every arm are equal, bit for bit.",
                            report.decode_tokens),
                "The perfect drafter knows the output and costs nothing: an upper bound for "
                "drafting, not the speed of any drafter."},
      .header = {"decode", "tokens/s", "quartiles", "speed-up", "drafts accepted", "limit ms/token",
                 "of limit", "bound by"},
      .rows = {}};
  const auto add = [&](std::string name, const DecodeSpeed& decode, bool classic) {
    std::vector<std::string> row = {
        std::move(name), Digits(decode.tokens_per_s.median), Spread(decode.tokens_per_s),
        classic ? "1" : fmt::format("{:.2f}", decode.speedup.median), Accepted(decode.stats)};
    Append(&row, LimitCells(decode.per_token));
    table.rows.push_back(std::move(row));
  };
  add("classic", report.classic, true);
  if (report.mtp) {
    add(fmt::format("MTP, {} drafts", report.draft_tokens), *report.mtp, false);
    if (report.mtp->stats.tested > 0 && report.mtp->stats.accepted == 0) {
      table.notes.emplace_back(
          "The MTP head's drafts were never right, as with random weights: this is what drafting "
          "costs, not what it gains.");
    }
  }
  add(fmt::format("upper bound: perfect drafter, {} drafts", report.draft_tokens), report.perfect,
      false);
  return table;
}

BenchTable AnatomyTable(std::string title, std::string note, const Anatomy& anatomy) {
  BenchTable table{
      .title = std::move(title),
      .notes = {std::move(note)},
      .header = {"part", "ms", "quartiles", "of the step", "limit ms", "of limit", "bound by"},
      .rows = {}};
  const auto add = [&](std::string name, const Timed& timed) {
    std::vector<std::string> row = {
        std::move(name), Digits(timed.ms.median), Spread(timed.ms),
        fmt::format("{:.1f} %", 100 * timed.ms.median / anatomy.wall_ms.median)};
    Append(&row, LimitCells(timed));
    table.rows.push_back(std::move(row));
  };
  for (const PartTime& part : anatomy.parts) add(std::string(PartName(part.part)), part.timed);
  add("all matrices", anatomy.matrices);
  add("outside the ops", {.ms = anatomy.outside_ms, .work = {}, .limit = {}});
  add("all", {.ms = anatomy.wall_ms, .work = {}, .limit = {}});
  return table;
}

}  // namespace

std::vector<BenchTable> BenchTables(const BenchReport& report) {
  std::vector<BenchTable> tables = {
      MachineTable(report), StepTable(report), DecodeTable(report),
      AnatomyTable("A classic step by part",
                   "With a clock around every op; outside is the choice of the token and "
                   "bookkeeping.",
                   report.step)};
  for (const auto& [rows, anatomy] : report.blocks) {
    tables.push_back(AnatomyTable(fmt::format("A block of {} rows by part", rows),
                                  "Blocks of the perfect drafter, the last of which may be "
                                  "shorter. The limit of a step counts the "
                                  "matrices alone.",
                                  anatomy));
  }
  if (report.drafter) {
    tables.push_back(AnatomyTable(
        "The drafter's step by part",
        fmt::format("All that the MTP head does for one block: its rows of the accepted tokens, "
                    "then {} drafts.",
                    report.draft_tokens),
        *report.drafter));
  }
  return tables;
}

std::string TablesText(std::span<const BenchTable> tables) {
  std::string text;
  for (const BenchTable& table : tables) {
    std::vector<size_t> widths(table.header.size(), 0);
    std::vector<std::vector<std::string>> lines = {table.header};
    lines.insert(lines.end(), table.rows.begin(), table.rows.end());
    for (const auto& line : lines) {
      for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    text += fmt::format("\n{}\n", table.title);
    for (const auto& line : lines) {
      std::string padded = fmt::format("  {:<{}}", line[0], widths[0]);
      for (size_t i = 1; i < line.size(); ++i) {
        padded += fmt::format("  {:>{}}", line[i], widths[i]);
      }
      text += padded + "\n";
    }
    for (const std::string& note : table.notes) text += fmt::format("  {}\n", note);
  }
  return text;
}

std::string TablesMarkdown(std::span<const BenchTable> tables) {
  std::string text;
  for (const BenchTable& table : tables) {
    text += fmt::format("\n#### {}\n\n", table.title);
    if (!table.notes.empty()) text += fmt::format("{}\n\n", fmt::join(table.notes, " "));
    text += fmt::format("| {} |\n|", fmt::join(table.header, " | "));
    for (size_t i = 0; i < table.header.size(); ++i) text += i == 0 ? " --- |" : " ---: |";
    text += "\n";
    for (const auto& row : table.rows) text += fmt::format("| {} |\n", fmt::join(row, " | "));
  }
  return text;
}

}  // namespace verbatim::cli
