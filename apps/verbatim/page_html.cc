// PageHtml: markup and style of the one-file report. No script.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbatim/page.h"

namespace verbatim::cli {
namespace {

// Colours are variables, so that plots follow the reader's light or dark system without a script.
constexpr std::string_view kStyle = R"(
:root{--paper:#faf9f5;--card:#fff;--ink:#1d2126;--soft:#5f6770;--line:#e2dfd6;--grid:#eceae3;
--a:#2b64c9;--b:#d0541f;--c:#23845a;--d:#8a4fbf;--good:#1c7a50;--bad:#c2381e;--warning:#96690b}
@media(prefers-color-scheme:dark){:root{--paper:#14171b;--card:#1c2127;--ink:#e9eaec;--soft:#9ba4ae;
--line:#2e353d;--grid:#262c33;--a:#7aa7f7;--b:#ff936a;--c:#5fcb9b;--d:#c39bf2;--good:#5fcb9b;
--bad:#ff8a70;--warning:#e3b65a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1240px;margin:0 auto;padding:clamp(20px,4vw,56px) clamp(16px,4vw,40px) 64px}
header{border-left:6px solid var(--tone);padding:4px 0 4px clamp(16px,2.5vw,28px);margin-bottom:28px}
h1{font-size:1rem;font-weight:600;color:var(--soft);margin:0 0 6px;letter-spacing:.01em}
.headline{font-size:clamp(2.3rem,8vw,4.4rem);line-height:1.05;font-weight:700;letter-spacing:-.03em;
margin:0;color:var(--tone);font-variant-numeric:tabular-nums}
.caption{font-size:clamp(1.05rem,2.4vw,1.3rem);margin:10px 0 0;max-width:46em}
ul.findings{list-style:none;padding:0;margin:0 0 32px;display:grid;gap:8px}
ul.findings li{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px;
display:grid;grid-template-columns:auto 1fr;gap:12px}
ul.findings b{font-size:.78rem;line-height:1.5;border-radius:99px;padding:1px 10px;border:1px solid currentColor;
align-self:start;margin-top:1px;color:var(--tone)}
.good{--tone:var(--good)}.bad{--tone:var(--bad)}.warning{--tone:var(--warning)}.plain{--tone:var(--a)}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr));gap:18px;margin-bottom:32px}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px 14px 12px;
display:flex;flex-direction:column}
h2{font-size:1.05rem;margin:0 0 10px;letter-spacing:-.005em}
figure svg{width:100%;height:auto;display:block}
figcaption{color:var(--soft);font-size:.86rem;line-height:1.45;margin-top:auto;padding-top:10px}
section{margin:0 0 28px}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:12px}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:9px 14px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
th{color:var(--soft);font-weight:600;font-size:.82rem}
th:first-child,td:first-child{text-align:left}
tbody tr:last-child td{border-bottom:0}
.note{color:var(--soft);font-size:.86rem;margin:8px 2px 0;max-width:70em}
footer{color:var(--soft);font-size:.86rem;border-top:1px solid var(--line);padding-top:14px}
footer p{margin:0 0 4px}
svg text{fill:var(--soft);font:12.5px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
font-variant-numeric:tabular-nums}
svg .strong{fill:var(--ink);font-weight:600}
svg .grid{stroke:var(--grid);stroke-width:1}svg .axis{stroke:var(--line);stroke-width:1}
svg .s0{--s:var(--a)}svg .s1{--s:var(--b)}svg .s2{--s:var(--c)}svg .s3{--s:var(--d)}
svg .fill{fill:var(--s)}svg .band{fill:var(--s);opacity:.13}
svg .stroke{stroke:var(--s);stroke-width:2;fill:none;stroke-linejoin:round;stroke-linecap:round}
svg .limit{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3}
)";

std::string_view ClassOf(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kWarning:
      return "warning";
    case Tone::kPlain:
      break;
  }
  return "plain";
}

std::string_view LabelOf(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "ok";
    case Tone::kBad:
      return "found";
    case Tone::kWarning:
      return "note";
    case Tone::kPlain:
      break;
  }
  return "info";
}

std::string RowOf(const std::vector<std::string>& cells, std::string_view tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) {
    row += fmt::format("<{0}>{1}</{0}>", tag, EscapeHtml(cell));
  }
  return row + "</tr>\n";
}

std::string TableOf(const PageTable& table) {
  std::string html = fmt::format("<section><h2>{}</h2>\n<div class=\"scroll\"><table><thead>{}",
                                 EscapeHtml(table.title), RowOf(table.header, "th"));
  html += "</thead><tbody>\n";
  for (const auto& row : table.rows) html += RowOf(row, "td");
  html += "</tbody></table></div>\n";
  for (const std::string& note : table.notes) {
    html += fmt::format("<p class=\"note\">{}</p>\n", EscapeHtml(note));
  }
  return html + "</section>\n";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped.push_back(c);
    }
  }
  return escaped;
}

std::string PageHtml(const Page& page) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body><main>\n"
      "<header class=\"{}\"><h1>{}</h1><p class=\"headline\">{}</p>\n<p "
      "class=\"caption\">{}</p></header>\n",
      EscapeHtml(page.title), kStyle, ClassOf(page.tone), EscapeHtml(page.title),
      EscapeHtml(page.headline), EscapeHtml(page.caption));
  html += "<ul class=\"findings\">\n";
  for (const Finding& finding : page.findings) {
    html += fmt::format("<li class=\"{}\"><b>{}</b><span>{}</span></li>\n", ClassOf(finding.tone),
                        LabelOf(finding.tone), EscapeHtml(finding.text));
  }
  html += "</ul>\n<div class=\"plots\">\n";
  for (const PagePlot& plot : page.plots) {
    html += fmt::format("<figure><h2>{}</h2>\n{}\n<figcaption>{}</figcaption></figure>\n",
                        EscapeHtml(plot.title), plot.svg, EscapeHtml(plot.caption));
  }
  html += "</div>\n";
  for (const PageTable& table : page.tables) html += TableOf(table);
  html += "<footer>\n";
  for (const std::string& condition : page.conditions) {
    html += fmt::format("<p>{}</p>\n", EscapeHtml(condition));
  }
  return html + "</footer>\n</main></body></html>\n";
}

}  // namespace verbatim::cli
