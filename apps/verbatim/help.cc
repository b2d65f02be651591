// The layout of help. Not its contents, which are the option table's.
#include "apps/verbatim/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/verbatim/manual_text.h"

namespace verbatim::cli {
namespace {

constexpr size_t kColumns = 80;  // the narrowest terminal that people still use
constexpr size_t kHelpColumn = 28;

// Adds `text` word by word, starting at `column`; further lines start there too.
void Wrap(std::string_view text, size_t indent, std::string* out) {
  size_t column = indent;
  bool first = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!first && column + 1 + word.size() > kColumns) {
      *out += '\n';
      out->append(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) *out += ' ';
    *out += word;
    column += word.size() + (first ? 0 : 1);
    first = false;
  }
  *out += '\n';
}

std::string Spelling(const OptionSpec& option) {
  if (option.positional) return std::string(option.name);
  std::string text = option.letter != 0 ? fmt::format("-{}, ", option.letter) : "    ";
  text += fmt::format("--{}", option.name);
  if (!option.value_name.empty()) text += fmt::format(" {}", option.value_name);
  return text;
}

std::string Description(const OptionSpec& option) {
  std::string text(option.help);
  std::string notes;
  if (!option.default_value.empty()) notes = fmt::format("default {}", option.default_value);
  std::string_view separator = notes.empty() ? "also " : "; also ";
  for (std::string_view alias : option.aliases) {
    notes += fmt::format("{}--{}", separator, alias);
    separator = ", ";
  }
  if (!notes.empty()) text += fmt::format(" ({})", notes);
  return text;
}

// Sections in the order in which the verb's options mention them.
std::vector<std::string_view> SectionsOf(Verb verb) {
  std::vector<std::string_view> sections;
  for (const OptionSpec* option : OptionsOf(verb)) {
    if (std::find(sections.begin(), sections.end(), option->section) == sections.end()) {
      sections.push_back(option->section);
    }
  }
  return sections;
}

std::string EscapeCell(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|' || c == '*') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Inside code spans only the bar needs care, and only in tables.
std::string EscapeCode(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string ProgramHelp() {
  std::string out =
      "verbatim: a language model engine whose speculative decoding gives the classic\n"
      "output, bit for bit.\n\nUsage: verbatim VERB [options]\n\nVerbs:\n";
  for (const VerbSpec& verb : AllVerbs()) {
    std::string line = fmt::format("  {:<10}", verb.name);
    const size_t column = line.size();
    out += line;
    Wrap(verb.summary, column, &out);
  }
  out +=
      "\n`verbatim help VERB` explains a verb; `verbatim --version` says what this build is.\n"
      "The answer goes to standard output, everything else to standard error. Exit codes:\n"
      "0 ok, 1 failure, 2 usage, 3 outputs differ, 130 interrupted, 143 terminated.\n";
  return out;
}

std::string VerbHelp(Verb verb) {
  const VerbSpec& spec = SpecOf(verb);
  std::string out = fmt::format("verbatim {}\n\n", spec.name);
  Wrap(fmt::format("{}.", spec.summary), 0, &out);
  out += fmt::format("\nUsage: verbatim {} {}\n", spec.name, spec.usage);
  for (std::string_view section : SectionsOf(verb)) {
    out += fmt::format("\n{}:\n", section);
    for (const OptionSpec* option : OptionsOf(verb)) {
      if (option->section != section) continue;
      std::string left = fmt::format("  {}", Spelling(*option));
      if (left.size() + 2 > kHelpColumn) {
        out += left + "\n";
        left.clear();
      }
      left.resize(kHelpColumn, ' ');
      out += left;
      Wrap(Description(*option), kHelpColumn, &out);
    }
  }
  out += "\nExamples:\n";
  for (std::string_view example : spec.examples) out += fmt::format("  verbatim {}\n", example);
  return out;
}

std::string MarkdownTable(Verb verb) {
  std::string out = "| option | meaning | default |\n|---|---|---|\n";
  for (const OptionSpec* option : OptionsOf(verb)) {
    std::string names;
    if (option->positional) {
      names = fmt::format("`{}`", option->name);
    } else {
      if (option->letter != 0) names = fmt::format("`-{}`, ", option->letter);
      names += fmt::format("`--{}{}{}`", option->name, option->value_name.empty() ? "" : " ",
                           EscapeCode(option->value_name));
      for (std::string_view alias : option->aliases) names += fmt::format(", `--{}`", alias);
    }
    const std::string fallback =
        option->default_value.empty() ? "" : fmt::format("`{}`", option->default_value);
    out += fmt::format("| {} | {} | {} |\n", names, EscapeCell(option->help), fallback);
  }
  return out;
}

std::string MarkdownManual() {
  std::string out(kManualIntroduction);
  for (const VerbSpec& verb : AllVerbs()) {
    out += fmt::format("\n## {}\n\n{}.\n\n    verbatim {} {}\n\n", verb.name, verb.summary,
                       verb.name, verb.usage);
    out += MarkdownTable(verb.verb);
    out += "\nExamples:\n\n";
    for (std::string_view example : verb.examples) out += fmt::format("    verbatim {}\n", example);
    out += ManualNotes(verb.verb);
  }
  return out;
}

}  // namespace verbatim::cli
