// Values of options: whole numbers, words, text. Not the table.
#include "apps/verbatim/option_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace verbatim::cli {
namespace {

// "1 to 15 or auto", "2, 3, 4, 5, 6 or 8".
std::string Domain(const OptionSpec& option) {
  std::vector<std::string> parts;
  if (option.kind == ValueKind::kInteger) {
    if (option.only.empty()) parts.push_back(fmt::format("{} to {}", option.min, option.max));
    for (int64_t value : option.only) parts.push_back(fmt::format("{}", value));
  }
  if (option.kind == ValueKind::kDecimal) {
    parts.push_back(fmt::format("{} to {}", option.least, option.most));
  }
  for (const Word& word : option.words) {
    if (word.text != word.canonical) continue;  // aliases work but are not advertised
    parts.push_back(fmt::format("{}{}", word.text, word.takes_path ? ":FILE" : ""));
  }
  std::string text = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    text += (i + 1 == parts.size() ? " or " : ", ") + parts[i];
  }
  return text;
}

std::string Advice(const OptionSpec& option, const VerbSpec& verb) {
  if (option.default_value.empty()) return fmt::format("verbatim {} --help", verb.name);
  return fmt::format("{} {}", OptionLabel(option), option.default_value);
}

// A value as an error shows it: quoted if empty or with characters that would break the one line.
std::string Shown(std::string_view text) {
  constexpr size_t kMost = 60;  // a sentence has to stay readable
  std::string shown;
  for (char c : text.substr(0, kMost)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  if (text.size() > kMost) shown += "...";
  return shown.empty() ? "''" : shown;
}

}  // namespace

bool ParseInteger(std::string_view text, int64_t* value) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, *value);
  return error == std::errc() && rest == end && !text.empty();
}

bool ParseDecimal(std::string_view text, double* value) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, *value);
  return error == std::errc() && rest == end && std::isfinite(*value);
}

std::string OptionLabel(const OptionSpec& option) {
  return option.positional ? std::string(option.name) : fmt::format("--{}", option.name);
}

Expected<OptionValue> ParseOptionValue(const OptionSpec& option, std::string_view text,
                                       const VerbSpec& verb) {
  OptionValue value{.text = std::string(text)};
  if (option.kind == ValueKind::kText) {
    // No option's text may be empty but a prompt, whose emptiness the engine judges by its tokens.
    if (!text.empty() || option.name == "prompt") return value;
    return MakeError(StatusCode::kInvalidArgument, OptionLabel(option),
                     fmt::format("{}", option.value_name), "an empty text", Advice(option, verb));
  }
  for (const Word& word : option.words) {
    if (text == word.text && !word.takes_path) {
      value.text = word.canonical;
      value.number = word.number;
      return value;
    }
    if (word.takes_path && text.size() > word.text.size() + 1 && text.starts_with(word.text) &&
        text[word.text.size()] == ':') {
      value.text = word.canonical;
      value.path = text.substr(word.text.size() + 1);
      return value;
    }
  }
  if (option.kind == ValueKind::kInteger && ParseInteger(text, &value.number) &&
      value.number >= option.min && value.number <= option.max &&
      (option.only.empty() || std::ranges::count(option.only, value.number) != 0)) {
    return value;
  }
  if (option.kind == ValueKind::kDecimal && ParseDecimal(text, &value.decimal) &&
      value.decimal >= option.least && value.decimal <= option.most) {
    return value;
  }
  return MakeError(StatusCode::kInvalidArgument, OptionLabel(option), Domain(option), Shown(text),
                   Advice(option, verb));
}

}  // namespace verbatim::cli
