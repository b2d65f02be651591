// One line per op and shape, or per op and model.
#include "apps/verbatim/parity_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace verbatim::cli {
namespace {

constexpr size_t kShownDigits = 16;  // of a digest; JSON has all 64

// "1-8", or "8".
std::string Range(int first, int last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

// Of all widths and both arms.
std::string Routes(const OpParityCase& one) {
  std::vector<ServedBy> all;
  for (const WidthParity& width : one.widths) {
    for (const ParityArm* arm : {&width.single, &width.block}) {
      all.insert(all.end(), arm->routes.begin(), arm->routes.end());
    }
  }
  return RouteText(all);
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

int64_t TotalBytes(const OpParityCase& one) {
  int64_t sum = 0;
  for (const WidthParity& width : one.widths) sum += width.bytes();
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

// Order and split of every route, each once, without the kernels.
std::vector<std::string> Orders(const OpParityCase& one) {
  std::vector<std::string> orders;
  for (const WidthParity& width : one.widths) {
    for (const ParityArm* arm : {&width.single, &width.block}) {
      for (const ServedBy& route : arm->routes) {
        std::string text = fmt::format("{}, split {}", ops::OrderName(route.order), route.split);
        if (std::ranges::count(orders, text) == 0) orders.push_back(std::move(text));
      }
    }
  }
  return orders;
}

void AddOnce(const std::string& text, std::vector<std::string>& texts) {
  if (std::ranges::count(texts, text) == 0) texts.push_back(text);
}

// Cases of one op, model and format, over shapes and targets.
struct SummaryLine {
  const OpParityCase* first;
  std::vector<std::string> formats;
  std::vector<std::string> shapes;                                 // as the last target has them
  std::vector<std::vector<std::pair<std::string, int>>> outcomes;  // by target: how many cases each
  std::vector<std::string> orders;
  int64_t bytes = 0, differing = 0;
  uint64_t ulp = 0;

  void Add(const OpParityCase& one, size_t target) {
    auto& counts = outcomes[target];
    const std::string outcome = CondensedVerdicts(one);
    const auto known =
        std::ranges::find_if(counts, [&](const auto& count) { return count.first == outcome; });
    if (known == counts.end()) {
      counts.emplace_back(outcome, 1);
    } else {
      ++known->second;
    }
    if (first->target != one.target) {
      first = &one;
      shapes.clear();
    }
    AddOnce(one.shape, shapes);
    for (const std::string& order : Orders(one)) AddOnce(order, orders);
    bytes += TotalBytes(one);
    differing += DifferingBytes(one);
    ulp = std::max(ulp, MaxUlp(one));
  }
  bool SameBut(const SummaryLine& other) const {
    return first->op == other.first->op && first->model == other.first->model &&
           differing + other.differing == 0 && outcomes == other.outcomes &&
           orders == other.orders && shapes == other.shapes;
  }
};

std::string Outcomes(const std::vector<std::pair<std::string, int>>& counts) {
  if (counts.empty()) return "-";
  if (counts.size() == 1) return counts.front().first;
  std::string text;
  for (const auto& [outcome, count] : counts) {
    text += fmt::format("{}{} ({} shape{})", text.empty() ? "" : "; ", outcome, count,
                        count == 1 ? "" : "s");
  }
  return text;
}

}  // namespace

int64_t DifferingBytes(const OpParityCase& one) {
  int64_t sum = 0;
  for (const WidthParity& width : one.widths) sum += width.differing_bytes();
  return sum;
}

std::string UlpText(uint64_t ulp) { return ulp == kUlpOfNan ? "NaN" : fmt::format("{}", ulp); }

// "affine_rows_1, affine_rows_8 (affine-segments-8, 8 parts)", an order after the other.
std::string RouteText(const std::vector<ServedBy>& routes) {
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

std::vector<std::string> TargetsOf(const OpParityReport& report) {
  std::vector<std::string> targets;
  for (const OpParityCase& one : report.cases) {
    if (std::ranges::count(targets, one.target) == 0) targets.push_back(one.target);
  }
  return targets;
}

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

// Cases of one target in the order of the report; formats that came out alike share a line.
ParityTable TargetTable(const OpParityReport& report, std::string_view target, bool whole) {
  ParityTable table{.header = {"op", "model", "of", "shape", "weights", "T and outcome",
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
                          fmt::format("{} of {}", line.differing, line.bytes), UlpText(line.ulp),
                          line.routes});
    if (whole) table.rows.back().push_back(Digests(one));
  }
  return table;
}

ParityTable SummaryTable(const OpParityReport& report) {
  const std::vector<std::string> targets = TargetsOf(report);
  std::vector<SummaryLine> lines;
  for (const OpParityCase& one : report.cases) {
    auto line = std::ranges::find_if(lines, [&](const SummaryLine& known) {
      return known.first->op == one.op && known.first->model == one.model &&
             known.formats.front() == one.format;
    });
    if (line == lines.end()) {
      lines.push_back(
          {.first = &one, .formats = {one.format}, .shapes = {}, .outcomes = {}, .orders = {}});
      lines.back().outcomes.resize(targets.size());
      line = lines.end() - 1;
    }
    line->Add(one, static_cast<size_t>(std::ranges::find(targets, one.target) - targets.begin()));
  }
  std::vector<SummaryLine> merged;
  for (SummaryLine& line : lines) {
    const auto same =
        std::ranges::find_if(merged, [&](const SummaryLine& known) { return known.SameBut(line); });
    if (same == merged.end()) {
      merged.push_back(std::move(line));
      continue;
    }
    same->formats.push_back(line.formats.front());
    same->bytes += line.bytes;
    same->differing += line.differing;
    same->ulp = std::max(same->ulp, line.ulp);
  }
  ParityTable table{.header = {"op", "model", "weights", "shapes"}, .rows = {}};
  for (const std::string& target : targets) table.header.push_back("T on " + target);
  for (const char* name : {"bytes that differ", "ulp at most", "order"}) {
    table.header.emplace_back(name);
  }
  for (const SummaryLine& line : merged) {
    std::vector<std::string> row = {line.first->op, line.first->model, Formats(line.formats),
                                    fmt::format("{}", fmt::join(line.shapes, "; "))};
    for (const auto& counts : line.outcomes) row.push_back(Outcomes(counts));
    row.push_back(fmt::format("{} of {}", line.differing, line.bytes));
    row.push_back(UlpText(line.ulp));
    row.push_back(line.orders.empty() ? "on the host"
                                      : fmt::format("{}", fmt::join(line.orders, "; ")));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace verbatim::cli
