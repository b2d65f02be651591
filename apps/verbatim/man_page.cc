// The layout of the man page. Not its contents: those are the option table's and manual_text.cc's.
#include "apps/verbatim/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "apps/verbatim/completion.h"
#include "apps/verbatim/manual_text.h"
#include "apps/verbatim/options.h"
#include "verbatim/version.h"

namespace verbatim::cli {
namespace {

// mandoc and groff tell people to keep source lines short; 80 is mandoc's limit.
constexpr size_t kColumns = 76;

// A hyphen in what people copy must stay a hyphen; a backslash must stay one.
std::string EscapeRoff(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string Bold(std::string_view text) { return fmt::format("\\fB{}\\fR", EscapeRoff(text)); }
std::string Italic(std::string_view text) { return fmt::format("\\fI{}\\fR", EscapeRoff(text)); }

// A line of text may not look like a request.
std::string Guard(std::string line) {
  if (line.starts_with('.') || line.starts_with('\'')) line.insert(0, "\\&");
  return line + "\n";
}

// Roff text, broken at spaces.
std::string Fill(std::string_view text) {
  std::string out;
  std::string line;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
      out += Guard(std::exchange(line, ""));
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  return line.empty() ? out : out + Guard(line);
}

// Code spans, bold and links of one piece of Markdown, as roff text.
std::string Inline(std::string_view text) {
  std::string out;
  const auto take = [&](std::string_view mark, auto&& render) {
    if (!text.starts_with(mark)) return false;
    const size_t end = text.find(mark, mark.size());
    if (end == text.npos) return false;
    out += render(text.substr(mark.size(), end - mark.size()));
    text.remove_prefix(end + mark.size());
    return true;
  };
  while (!text.empty()) {
    if (take("`", Bold) || take("**", Bold)) continue;
    if (const size_t middle = text.find("]("); text.starts_with('[') && middle != text.npos) {
      const size_t end = text.find(')', middle);
      if (end != text.npos && text.find(']') == middle) {
        out += EscapeRoff(text.substr(1, middle - 1));
        text.remove_prefix(end + 1);
        continue;
      }
    }
    if (text.starts_with('\\') && text.size() > 1) text.remove_prefix(1);  // \| in a table
    out += EscapeRoff(text.substr(0, 1));
    text.remove_prefix(1);
  }
  return out;
}

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "| a | b |" as its cells; a bar behind a backslash is text.
std::vector<std::string_view> CellsOf(std::string_view row) {
  std::vector<std::string_view> cells;
  size_t begin = 1;
  for (size_t i = 1; i < row.size(); ++i) {
    if (row[i] != '|' || row[i - 1] == '\\') continue;
    cells.push_back(Trim(row.substr(begin, i - begin)));
    begin = i + 1;
  }
  return cells;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.push_back(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return lines;
}

std::string Example(std::string_view line) { return Guard(EscapeRoff(line)); }

std::string Examples(const VerbSpec& verb) {
  std::string out = ".PP\n.nf\n.RS 4\n";
  for (std::string_view example : verb.examples) {
    out += Example(fmt::format("verbatim {}", example));
  }
  return out + ".RE\n.fi\n";
}

std::string OptionEntry(const OptionSpec& option) {
  std::string tag;
  if (option.positional) {
    tag = Italic(option.name);
  } else {
    for (const std::string& spelling : SpellingsOf(option)) {
      tag += fmt::format("{}{}", tag.empty() ? "" : ", ", Bold(spelling));
    }
    if (!option.value_name.empty()) tag += fmt::format(" {}", Italic(option.value_name));
  }
  std::string help = EscapeRoff(option.help) + ".";
  if (!option.default_value.empty()) {
    help += fmt::format(" Default: {}.", Bold(option.default_value));
  }
  return fmt::format(".TP\n{}{}", Guard(tag), Fill(help));
}

std::string VerbSection(const VerbSpec& verb) {
  std::string name(verb.name);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(std::toupper(c)); });
  std::string out =
      fmt::format(".SH {}\n{}.PP\n", name, Fill(EscapeRoff(fmt::format("{}.", verb.summary))));
  out += Fill(
      fmt::format("{} {}", Bold(fmt::format("verbatim {}", verb.name)), EscapeRoff(verb.usage)));
  for (const OptionSpec* option : OptionsOf(verb.verb)) out += OptionEntry(*option);
  return out + Examples(verb) + RoffFromMarkdown(ManualNotes(verb.verb));
}

}  // namespace

std::string RoffFromMarkdown(std::string_view markdown) {
  std::string out;
  std::string paragraph;
  std::string_view request = ".PP\n";
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) {
      out += fmt::format("{}{}", request, Fill(Inline(std::exchange(paragraph, ""))));
    }
    request = ".PP\n";
  };
  bool in_example = false;
  bool in_table = false;
  for (std::string_view line : LinesOf(markdown)) {
    const bool example = line.starts_with("    ");
    if (in_example && !example) out += ".RE\n.fi\n";
    if (example) {
      end_paragraph();
      if (!in_example) out += ".PP\n.nf\n.RS 4\n";
      out += Example(line.substr(4));
    }
    in_example = example;
    const bool row = line.starts_with('|');
    if (row) {
      end_paragraph();
      const std::vector<std::string_view> cells = CellsOf(line);
      // The first row is the heading, the second the rule below it.
      if (in_table && !line.starts_with("|-")) {
        std::string text;
        for (size_t i = 1; i < cells.size(); ++i) {
          text += fmt::format("{}{}", i == 1 ? "" : "; ", Inline(cells[i]));
        }
        out += fmt::format(".TP\n{}{}", Guard(Inline(cells.front())), Fill(text));
      }
    }
    in_table = row;
    if (example || row) continue;
    if (line.empty() || line.starts_with('#') || line.starts_with("<!--")) {
      end_paragraph();
    } else if (line.starts_with("- ")) {
      end_paragraph();
      request = ".IP \\(bu 2\n";
      paragraph = line.substr(2);
    } else {
      paragraph += fmt::format("{}{}", paragraph.empty() ? "" : " ", line);
    }
  }
  if (in_example) out += ".RE\n.fi\n";
  end_paragraph();
  return out;
}

std::string ManPage(std::string_view date) {
  std::string out = fmt::format(
      ".\\\" Made by `verbatim help --man`. Not for editing.\n"
      ".TH VERBATIM 1 {} \"verbatim {}\" \"User Commands\"\n"
      ".SH NAME\nverbatim \\- language model engine whose speculation never changes the output\n"
      ".SH SYNOPSIS\n",
      date, Version());
  for (const VerbSpec& verb : AllVerbs()) {
    if (&verb != AllVerbs().data()) out += ".br\n";
    out += Fill(
        fmt::format("{} {}", Bold(fmt::format("verbatim {}", verb.name)), EscapeRoff(verb.usage)));
  }
  out += ".SH DESCRIPTION\n";
  // The introduction's own synopsis line is an example there; here it reads as the general form.
  std::string introduction = RoffFromMarkdown(kManualIntroduction);
  if (introduction.starts_with(".PP\n")) introduction.erase(0, 4);  // the heading does it
  out += introduction;
  for (const VerbSpec& verb : AllVerbs()) out += VerbSection(verb);
  return out;
}

}  // namespace verbatim::cli
