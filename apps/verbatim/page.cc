// PageText and PageMarkdown. The HTML is page_html.cc's.
#include "apps/verbatim/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace verbatim::cli {
namespace {

std::string_view Mark(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "ok: ";
    case Tone::kBad:
      return "FOUND: ";
    case Tone::kWarning:
      return "note: ";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string ColoredMark(Tone tone, bool color) {
  const std::string_view mark = Mark(tone);
  if (!color || mark.empty()) return std::string(mark);
  const char* code = tone == Tone::kGood ? "1;32" : tone == Tone::kBad ? "1;31" : "1;33";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, mark);
}

// Columns on a terminal: UTF-8 continuation bytes take none.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Padded(std::string_view text, size_t width, bool left) {
  const std::string space(width - std::min(width, Columns(text)), ' ');
  return left ? fmt::format("{}{}", text, space) : fmt::format("{}{}", space, text);
}

std::string CellOfMarkdown(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<') cell.push_back('\\');
    cell.push_back(c);
  }
  return cell;
}

}  // namespace

std::string PageText(const Page& page, bool color) {
  std::string text = fmt::format("{}\n{}\n\n{} {}\n", page.title, fmt::join(page.conditions, "\n"),
                                 page.headline, page.caption);
  for (const Finding& finding : page.findings) {
    text += fmt::format("{}{}\n", ColoredMark(finding.tone, color), finding.text);
  }
  for (const PageTable& table : page.tables) {
    std::vector<size_t> widths(table.header.size(), 0);
    std::vector<std::vector<std::string>> lines = {table.header};
    lines.insert(lines.end(), table.rows.begin(), table.rows.end());
    for (const auto& line : lines) {
      for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Columns(line[i]));
    }
    text += fmt::format("\n{}\n", table.title);
    for (const auto& line : lines) {
      std::string padded(1, ' ');
      for (size_t i = 0; i < line.size(); ++i)
        padded.append(1, ' ').append(Padded(line[i], widths[i] + 1, i == 0));
      while (padded.ends_with(' ')) padded.pop_back();
      text += padded + "\n";
    }
    for (const std::string& note : table.notes) text += fmt::format("  {}\n", note);
  }
  return text;
}

std::string PageMarkdown(const Page& page) {
  std::string text =
      fmt::format("### {}\n\n**{}** {}\n\n", page.title, page.headline, page.caption);
  for (const Finding& finding : page.findings) {
    text += fmt::format("- {}{}\n", Mark(finding.tone), finding.text);
  }
  if (!page.findings.empty()) text += "\n";
  text += fmt::format("{}\n", fmt::join(page.conditions, "; "));
  for (const PageTable& table : page.tables) {
    text += fmt::format("\n#### {}\n\n|", table.title);
    for (const std::string& cell : table.header) text += fmt::format(" {} |", CellOfMarkdown(cell));
    text += "\n|";
    for (size_t i = 0; i < table.header.size(); ++i) text += i == 0 ? " --- |" : " ---: |";
    text += "\n";
    for (const auto& row : table.rows) {
      text += "|";
      for (const std::string& cell : row) text += fmt::format(" {} |", CellOfMarkdown(cell));
      text += "\n";
    }
    if (!table.notes.empty()) text += fmt::format("\n{}\n", fmt::join(table.notes, " "));
  }
  return text;
}

}  // namespace verbatim::cli
