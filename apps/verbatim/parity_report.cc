// Tables, and what differs in sentences.
#include "apps/verbatim/parity_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "apps/verbatim/parity_tables.h"

namespace verbatim::cli {
namespace {

constexpr size_t kShownDigits = 16;  // of a digest; JSON has all 64

std::string Ranges(const std::vector<int>& widths) {
  std::string text;
  for (size_t i = 0; i < widths.size();) {
    size_t end = i + 1;
    while (end < widths.size() && widths[end] == widths[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", widths[i]);
    if (end > i + 1) text += fmt::format("-{}", widths[end - 1]);
    i = end;
  }
  return text;
}

// The first width whose bytes differ, and the one with most that do; else the first by another
// route.
std::vector<const WidthParity*> WidthsToExplain(const OpParityCase& one) {
  const ParityVerdict sought =
      DifferingBytes(one) != 0 ? ParityVerdict::kDiffers : ParityVerdict::kRoute;
  const WidthParity* first = nullptr;
  const WidthParity* worst = nullptr;
  for (const WidthParity& width : one.widths) {
    if (width.verdict() != sought) continue;
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
    lines.push_back(line + fmt::format("; {} ulp at most", UlpText(width.max_ulp)));
  }
  if (width.first) {
    lines.push_back(fmt::format("first: seed {}, {}: block {}, single {}", width.first->seed,
                                width.first->place, width.first->block, width.first->single));
  }
  lines.push_back(fmt::format("block: {}, SHA-256 {}", RouteText(width.block.routes),
                              width.block.sha256.substr(0, kShownDigits)));
  lines.push_back(fmt::format("single: {}, SHA-256 {}", RouteText(width.single.routes),
                              width.single.sha256.substr(0, kShownDigits)));
  return lines;
}

std::string Title(const OpParityCase& one) {
  std::string title =
      fmt::format("{} {}: {} of {}, {}", one.target, one.op, one.what, one.model, one.shape);
  if (!one.format.empty()) title += ", " + one.format;
  return title + (one.asserted ? "" : " (not asserted)");
}

// The cases to explain: all of them, or of each target, op and model the one that differs most.
std::vector<const OpParityCase*> CasesToExplain(const OpParityReport& report, bool whole) {
  std::vector<const OpParityCase*> cases;
  for (const OpParityCase& one : report.cases) {
    if (one.equal()) continue;
    const auto known = std::ranges::find_if(cases, [&](const OpParityCase* other) {
      return !whole && other->target == one.target && other->op == one.op &&
             other->model == one.model;
    });
    if (known == cases.end()) {
      cases.push_back(&one);
    } else if (DifferingBytes(one) > DifferingBytes(**known)) {
      *known = &one;
    }
  }
  return cases;
}

// `form` is a line of one of the sentences.
std::string Explanations(const OpParityReport& report, bool whole, fmt::string_view form,
                         std::string_view gap) {
  std::string text;
  const std::vector<const OpParityCase*> cases = CasesToExplain(report, whole);
  for (const OpParityCase* one : cases) {
    text += fmt::format("\n{}\n{}", Title(*one), gap);
    for (const WidthParity* width : WidthsToExplain(*one)) {
      for (const std::string& line : Explain(*width)) {
        text += fmt::format(fmt::runtime(form), line);
      }
    }
  }
  const auto unequal =
      std::ranges::count_if(report.cases, [](const OpParityCase& one) { return !one.equal(); });
  if (const auto more = unequal - static_cast<int64_t>(cases.size()); more > 0) {
    text += fmt::format("\n{} more of the same ops and models, which -v shows.\n", more);
  }
  return text;
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

}  // namespace

std::string OpParityText(const OpParityReport& report, bool whole) {
  std::string text = Conditions(report) + "\n";
  for (const std::string& target : TargetsOf(report)) {
    const ParityTable table = TargetTable(report, target, whole);
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
  return text + Explanations(report, whole, "  {}\n", "") +
         fmt::format("\n{}\n", Conclusion(report));
}

std::string OpParityMarkdown(const OpParityReport& report, bool whole) {
  std::string text = fmt::format("{}. {}.\n", Conditions(report), Conclusion(report));
  const auto add = [&text](const ParityTable& table) {
    text += fmt::format("\n| {} |\n|", fmt::join(table.header, " | "));
    for (size_t i = 0; i < table.header.size(); ++i) text += " --- |";
    text += "\n";
    for (const auto& row : table.rows) text += fmt::format("| {} |\n", fmt::join(row, " | "));
  };
  if (!whole) add(SummaryTable(report));
  for (const std::string& target : TargetsOf(report)) {
    if (!whole) break;
    text += fmt::format("\n#### {}\n", target);
    add(TargetTable(report, target, whole));
  }
  return text + Explanations(report, whole, "- {}\n", "\n");
}

}  // namespace verbatim::cli
