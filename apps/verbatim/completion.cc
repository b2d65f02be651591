// What every shell's completion has in common: which values an option offers. Not the scripts.
#include "apps/verbatim/completion.h"

#include <fmt/format.h>

namespace verbatim::cli {
namespace {

// Whether one of the alternatives of "FILE|N" is `name`.
bool Names(std::string_view value_name, std::string_view name) {
  while (true) {
    const size_t bar = value_name.find('|');
    if (value_name.substr(0, bar) == name) return true;
    if (bar == value_name.npos) return false;
    value_name.remove_prefix(bar + 1);
  }
}

}  // namespace

ValueOffer OfferFor(const OptionSpec& option) {
  ValueOffer offer;
  for (int64_t number : option.only) offer.words.push_back(fmt::format("{}", number));
  for (const Word& word : option.words) {
    if (word.text != word.canonical) continue;
    offer.words.push_back(fmt::format("{}{}", word.text, word.takes_path ? ":" : ""));
    offer.takes_path_behind_a_word |= word.takes_path;
  }
  if (Names(option.value_name, "VERB")) {
    for (const VerbSpec& verb : AllVerbs()) offer.words.emplace_back(verb.name);
  }
  if (Names(option.value_name, "FILE")) offer.path = PathKind::kFile;
  if (Names(option.value_name, "DIR")) offer.path = PathKind::kFolder;
  return offer;
}

std::vector<std::string> SpellingsOf(const OptionSpec& option) {
  std::vector<std::string> spellings;
  if (option.letter != 0) spellings.push_back(fmt::format("-{}", option.letter));
  spellings.push_back(fmt::format("--{}", option.name));
  for (std::string_view alias : option.aliases) spellings.push_back(fmt::format("--{}", alias));
  return spellings;
}

std::string JoinWords(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string EscapeWith(std::string_view text, std::string_view special) {
  std::string escaped;
  for (char c : text) {
    if (special.find(c) != special.npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace verbatim::cli
