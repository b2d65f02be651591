// Page: a report as findings, tables and plots, in three renderings. Not what is in it.
#ifndef VERBATIM_APPS_PAGE_H_
#define VERBATIM_APPS_PAGE_H_

#include <string>
#include <vector>

namespace verbatim::cli {

enum class Tone { kGood, kBad, kWarning, kPlain };

struct Finding {
  Tone tone = Tone::kPlain;
  std::string text;  // one sentence
};

struct PageTable {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes = {};
};

struct PagePlot {
  std::string title;
  std::string svg;      // a whole element
  std::string caption;  // what is seen, over what
};

struct Page {
  std::string title;     // "Flips of tiny-qwen35-4bit"
  std::string headline;  // the one figure: "0 of 300,000"
  std::string caption;   // what the headline counts, and its bound
  Tone tone = Tone::kPlain;
  std::vector<std::string> conditions = {};  // what was measured, how
  std::vector<Finding> findings = {};
  std::vector<PageTable> tables = {};
  std::vector<PagePlot> plots = {};  // the HTML page alone has them
};

// For a terminal, with `color` or without.
std::string PageText(const Page& page, bool color);
std::string PageMarkdown(const Page& page);
// One file, nothing loaded from elsewhere, light and dark by the reader's system.
std::string PageHtml(const Page& page);

std::string EscapeHtml(std::string_view text);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_PAGE_H_
