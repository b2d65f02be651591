// Three renderings of the same comparison.
#include "apps/verbatim/parity_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "apps/verbatim/json_writer.h"

namespace verbatim::cli {
namespace {

constexpr size_t kShownDigits = 16;  // of a digest; JSON has all 64

std::string Ulp(uint64_t ulp) { return ulp == kUlpOfNan ? "NaN" : fmt::format("{}", ulp); }

// "1-8" of ascending numbers [first, last] of `widths`.
std::string Range(int first, int last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string Ranges(const std::vector<int>& widths) {
  std::string text;
  for (size_t i = 0; i < widths.size();) {
    size_t end = i + 1;
    while (end < widths.size() && widths[end] == widths[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", Range(widths[i], widths[end - 1]));
    i = end;
  }
  return text;
}

// "affine_rows_1, affine_rows_8 (affine-segments-8, 8 parts)", an order after the other.
std::string Routes(const std::vector<ServedBy>& routes) {
  if (routes.empty()) return "on the host";
  struct Group {
    ops::OrderId order;
    int split;
    std::vector<std::string> kernels;
  };
  std::vector<Group> groups;
  for (const ServedBy& route : routes) {
    auto group = std::ranges::find_if(groups, [&](const Group& known) {
      return known.order == route.order && known.split == route.split;
    });
    if (group == groups.end()) {
      groups.push_back({route.order, route.split, {}});
      group = groups.end() - 1;
    }
    if (std::ranges::count(group->kernels, route.kernel) == 0) {
      group->kernels.push_back(route.kernel);
    }
  }
  std::string text;
  for (const Group& group : groups) {
    text += fmt::format("{}{} ({}, split {})", text.empty() ? "" : "; ",
                        fmt::join(group.kernels, ", "), ops::OrderName(group.order), group.split);
  }
  return text;
}

// Of all widths and both arms.
std::string Routes(const OpParityCase& one) {
  std::vector<ServedBy> all;
  for (const WidthParity& width : one.widths) {
    for (const ParityArm* arm : {&width.single, &width.block}) {
      all.insert(all.end(), arm->routes.begin(), arm->routes.end());
    }
  }
  return Routes(all);
}

// "affine 2,3,4-bit g64, bf16" for names as FormatName gives them.
std::string Formats(const std::vector<std::string>& names) {
  struct Group {
    std::string suffix;  // "-bit g64"
    std::string bits;    // "2,3,4"
  };
  std::vector<Group> groups;
  constexpr std::string_view kAffine = "affine ";
  std::string dense;
  for (const std::string& name : names) {
    const size_t dash = name.find('-');
    if (!name.starts_with(kAffine) || dash == name.npos) {
      dense += (dense.empty() ? "" : ", ") + name;
      continue;
    }
    const std::string bits = name.substr(kAffine.size(), dash - kAffine.size());
    const std::string suffix = name.substr(dash);
    if (groups.empty() || groups.back().suffix != suffix) {
      groups.push_back({suffix, bits});
    } else {
      groups.back().bits += "," + bits;
    }
  }
  std::string text;
  for (const Group& group : groups) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", kAffine, group.bits, group.suffix);
  }
  return fmt::format("{}{}{}", text, text.empty() || dense.empty() ? "" : ", ", dense);
}

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

int64_t TotalBytes(const OpParityCase& one) {
  int64_t sum = 0;
  for (const WidthParity& width : one.widths) sum += width.bytes();
  return sum;
}

int64_t DifferingBytes(const OpParityCase& one) {
  int64_t sum = 0;
  for (const WidthParity& width : one.widths) sum += width.differing_bytes();
  return sum;
}

uint64_t MaxUlp(const OpParityCase& one) {
  uint64_t most = 0;
  for (const WidthParity& width : one.widths) most = std::max(most, width.max_ulp);
  return most;
}

std::string Digests(const OpParityCase& one) {
  const WidthParity& width = one.widths.back();
  const std::string single = width.single.sha256.substr(0, kShownDigits);
  const std::string block = width.block.sha256.substr(0, kShownDigits);
  return single == block ? block : fmt::format("{} / {}", block, single);
}

// Cases of one target in the order of the report; formats that came out alike share a line.
Table TargetTable(const OpParityReport& report, std::string_view target, bool whole) {
  Table table{.header = {"op", "model", "of", "shape", "weights", "T and outcome",
                         "bytes that differ", "ulp at most", "served by"},
              .rows = {}};
  if (whole) table.header.emplace_back("SHA-256 of the widest, block / single if unequal");
  struct Line {
    const OpParityCase* first;
    std::string outcome;
    std::string routes;
    std::vector<std::string> formats;
    int64_t bytes, differing;
    uint64_t ulp;
  };
  std::vector<Line> lines;
  for (const OpParityCase& one : report.cases) {
    if (one.target != target) continue;
    Line line = {&one,         CondensedVerdicts(one), Routes(one),
                 {one.format}, TotalBytes(one),        DifferingBytes(one),
                 MaxUlp(one)};
    const auto same = std::ranges::find_if(lines, [&](const Line& known) {
      return !whole && known.first->op == one.op && known.first->model == one.model &&
             known.first->what == one.what && known.first->shape == one.shape &&
             known.outcome == line.outcome && known.routes == line.routes;
    });
    if (same == lines.end()) {
      lines.push_back(std::move(line));
      continue;
    }
    same->formats.push_back(one.format);
    same->bytes += line.bytes;
    same->differing += line.differing;
    same->ulp = std::max(same->ulp, line.ulp);
  }
  for (const Line& line : lines) {
    const OpParityCase& one = *line.first;
    table.rows.push_back({one.op, one.model, one.what, one.shape, Formats(line.formats),
                          line.outcome + (one.asserted ? "" : " (not asserted)"),
                          fmt::format("{} of {}", line.differing, line.bytes), Ulp(line.ulp),
                          line.routes});
    if (whole) table.rows.back().push_back(Digests(one));
  }
  return table;
}

// The first width that is not equal, and the one with most differences.
std::vector<const WidthParity*> WidthsToExplain(const OpParityCase& one) {
  const WidthParity* first = nullptr;
  const WidthParity* worst = nullptr;
  for (const WidthParity& width : one.widths) {
    if (width.verdict() == ParityVerdict::kEqual) continue;
    if (first == nullptr) first = worst = &width;
    if (width.differing_bytes() > worst->differing_bytes()) worst = &width;
  }
  return first == worst ? std::vector{first} : std::vector{first, worst};
}

// Sentences on one width that is not equal.
std::vector<std::string> Explain(const WidthParity& width) {
  std::vector<std::string> lines;
  if (width.verdict() == ParityVerdict::kRoute) {
    const bool unknown = std::ranges::any_of(width.block.routes, [](const ServedBy& route) {
      return route.order == ops::OrderId::kUnknown;
    });
    lines.push_back(
        fmt::format("T = {}: equal bytes, {}", width.width,
                    unknown ? "in an order that only the library knows" : "but not by one route"));
  } else {
    const auto most =
        std::ranges::max_element(width.differing_row_bytes) - width.differing_row_bytes.begin();
    const auto num_rows =
        std::ranges::count_if(width.differing_row_bytes, [](int64_t bytes) { return bytes != 0; });
    std::string line =
        fmt::format("T = {}: {} of {} rows differ, row {} most with {} of {} bytes", width.width,
                    num_rows, width.width, most, width.differing_row_bytes[most], width.row_bytes);
    if (width.state_bytes > 0) {
      line +=
          fmt::format("; {} of {} bytes of state", width.differing_state_bytes, width.state_bytes);
    }
    lines.push_back(line + fmt::format("; {} ulp at most", Ulp(width.max_ulp)));
  }
  if (width.first) {
    lines.push_back(fmt::format("first: seed {}, {}: block {}, single {}", width.first->seed,
                                width.first->place, width.first->block, width.first->single));
  }
  lines.push_back(fmt::format("block: {}, SHA-256 {}", Routes(width.block.routes),
                              width.block.sha256.substr(0, kShownDigits)));
  lines.push_back(fmt::format("single: {}, SHA-256 {}", Routes(width.single.routes),
                              width.single.sha256.substr(0, kShownDigits)));
  return lines;
}

std::string Title(const OpParityCase& one) {
  std::string title =
      fmt::format("{} {}: {} of {}, {}", one.target, one.op, one.what, one.model, one.shape);
  if (!one.format.empty()) title += ", " + one.format;
  return title + (one.asserted ? "" : " (not asserted)");
}

std::string Conditions(const OpParityReport& report) {
  return fmt::format(
      "Each op as one call of T rows against T calls of one row on the same inputs; T = {}, {} "
      "seed{}, contract {}, {} thread{}",
      Ranges(report.widths), report.num_seeds, report.num_seeds == 1 ? "" : "s",
      ContractModeName(report.contract), report.num_threads, report.num_threads == 1 ? "" : "s");
}

std::string Conclusion(const OpParityReport& report) {
  const auto unequal =
      std::ranges::count_if(report.cases, [](const OpParityCase& one) { return !one.equal(); });
  const auto differing = std::ranges::count_if(
      report.cases, [](const OpParityCase& one) { return DifferingBytes(one) != 0; });
  const auto broken = std::ranges::count_if(
      report.cases, [](const OpParityCase& one) { return one.asserted && !one.equal(); });
  std::string text =
      fmt::format("{} blocks of {} cases compared, {} bytes in {:.1f} s: ", report.comparisons(),
                  report.cases.size(), report.bytes(), report.seconds);
  if (unequal == 0) return text + "all equal";
  return text + fmt::format(
                    "{} cases differ in bytes and {} in their route alone; {} of them were "
                    "asserted to be equal",
                    differing, unequal - differing, broken);
}

std::vector<std::string> TargetsOf(const OpParityReport& report) {
  std::vector<std::string> targets;
  for (const OpParityCase& one : report.cases) {
    if (std::ranges::count(targets, one.target) == 0) targets.push_back(one.target);
  }
  return targets;
}

void WriteArm(std::string_view key, const ParityArm& arm, JsonWriter& json) {
  json.Key(key).BeginObject().Key("sha256").String(arm.sha256).Key("routes").BeginArray();
  for (const ServedBy& route : arm.routes) {
    json.BeginObject();
    json.Key("op").String(ops::OpName(route.op));
    json.Key("family").String(route.family);
    json.Key("kernel").String(route.kernel);
    json.Key("order").String(ops::OrderName(route.order));
    json.Key("split").Integer(route.split);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void WriteWidth(const WidthParity& width, JsonWriter& json) {
  json.BeginObject();
  json.Key("width").Integer(width.width);
  json.Key("verdict").String(ParityVerdictName(width.verdict()));
  json.Key("comparisons").Integer(width.comparisons);
  json.Key("row_bytes").Integer(width.row_bytes);
  json.Key("differing_row_bytes").Integers(std::span(width.differing_row_bytes));
  json.Key("state_bytes").Integer(width.state_bytes);
  json.Key("differing_state_bytes").Integer(width.differing_state_bytes);
  json.Key("max_ulp");
  if (width.max_ulp == kUlpOfNan) {
    json.String("NaN");
  } else {
    json.Integer(static_cast<int64_t>(width.max_ulp));
  }
  json.Key("same_route").Bool(width.same_route);
  WriteArm("block", width.block, json);
  WriteArm("single", width.single, json);
  if (width.first) {
    json.Key("first").BeginObject();
    json.Key("seed").Integer(width.first->seed);
    json.Key("place").String(width.first->place);
    json.Key("block").String(width.first->block);
    json.Key("single").String(width.first->single).EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string CondensedVerdicts(const OpParityCase& one) {
  std::string text;
  for (size_t i = 0; i < one.widths.size();) {
    size_t end = i + 1;
    while (end < one.widths.size() && one.widths[end].verdict() == one.widths[i].verdict()) ++end;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        Range(one.widths[i].width, one.widths[end - 1].width),
                        ParityVerdictName(one.widths[i].verdict()));
    i = end;
  }
  return text;
}

std::string OpParityText(const OpParityReport& report, bool whole) {
  std::string text = Conditions(report) + "\n";
  for (const std::string& target : TargetsOf(report)) {
    const Table table = TargetTable(report, target, whole);
    std::vector<size_t> widths(table.header.size(), 0);
    std::vector<std::vector<std::string>> lines = {table.header};
    lines.insert(lines.end(), table.rows.begin(), table.rows.end());
    for (const auto& line : lines) {
      for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    text += fmt::format("\n{}\n", target);
    for (const auto& line : lines) {
      std::string padded;
      for (size_t i = 0; i < line.size(); ++i) {
        padded += fmt::format("  {:<{}}", line[i], i + 1 == line.size() ? 0 : widths[i]);
      }
      text += padded + "\n";
    }
  }
  for (const OpParityCase& one : report.cases) {
    if (one.equal()) continue;
    text += fmt::format("\n{}\n", Title(one));
    for (const WidthParity* width : WidthsToExplain(one)) {
      for (const std::string& line : Explain(*width)) text += fmt::format("  {}\n", line);
    }
  }
  return text + fmt::format("\n{}\n", Conclusion(report));
}

std::string OpParityMarkdown(const OpParityReport& report, bool whole) {
  std::string text = fmt::format("{}. {}.\n", Conditions(report), Conclusion(report));
  for (const std::string& target : TargetsOf(report)) {
    const Table table = TargetTable(report, target, whole);
    text += fmt::format("\n#### {}\n\n| {} |\n|", target, fmt::join(table.header, " | "));
    for (size_t i = 0; i < table.header.size(); ++i) text += " --- |";
    text += "\n";
    for (const auto& row : table.rows) text += fmt::format("| {} |\n", fmt::join(row, " | "));
  }
  for (const OpParityCase& one : report.cases) {
    if (one.equal()) continue;
    text += fmt::format("\n{}\n\n", Title(one));
    for (const WidthParity* width : WidthsToExplain(one)) {
      for (const std::string& line : Explain(*width)) text += fmt::format("- {}\n", line);
    }
  }
  return text;
}

std::string OpParityJson(const OpParityReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("contract").String(ContractModeName(report.contract));
  json.Key("threads").Integer(report.num_threads);
  json.Key("seeds").Integer(report.num_seeds);
  json.Key("widths").Integers(std::vector<int32_t>(report.widths.begin(), report.widths.end()));
  json.Key("targets").BeginArray();
  for (const std::string& target : report.targets) json.String(target);
  json.EndArray();
  json.Key("holds").Bool(report.Holds());
  json.Key("comparisons").Integer(report.comparisons());
  json.Key("bytes").Integer(report.bytes());
  json.Key("seconds").Rounded(report.seconds);
  json.Key("cases").BeginArray();
  for (const OpParityCase& one : report.cases) {
    json.BeginObject();
    json.Key("target").String(one.target);
    json.Key("op").String(one.op);
    json.Key("model").String(one.model);
    json.Key("of").String(one.what);
    json.Key("shape").String(one.shape);
    json.Key("format").String(one.format);
    json.Key("asserted").Bool(one.asserted);
    json.Key("equal").Bool(one.equal());
    json.Key("outcome").String(CondensedVerdicts(one));
    json.Key("widths").BeginArray();
    for (const WidthParity& width : one.widths) WriteWidth(width, json);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace verbatim::cli
