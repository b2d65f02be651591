// Shell completions, generated from the option table. Not installed by hand: cmake --install puts
// them where the shells look.
#ifndef VERBATIM_APPS_COMPLETION_H_
#define VERBATIM_APPS_COMPLETION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/verbatim/options.h"

namespace verbatim::cli {

std::string BashCompletion();  // works without the bash-completion package
std::string ZshCompletion();   // a file for $fpath
std::string FishCompletion();

enum class PathKind : uint8_t { kNone, kFile, kFolder };

// What a shell can offer for an option's value.
struct ValueOffer {
  std::vector<std::string> words = {};    // values by name; one that ends in ":" wants a file
  PathKind path = PathKind::kNone;        // files or folders beside the words
  bool takes_path_behind_a_word = false;  // one of the words ends in ":"
};

// From the option's words, its only numbers, and its value name: FILE is a file, DIR a folder.
// Aliases of words are not offered; VERB offers the verbs.
ValueOffer OfferFor(const OptionSpec& option);

// "-m", "--model", "--draft-model", ...: every spelling with its dashes.
std::vector<std::string> SpellingsOf(const OptionSpec& option);

std::string JoinWords(const std::vector<std::string>& words, std::string_view separator);

// `text` with a backslash before each character of `special`.
std::string EscapeWith(std::string_view text, std::string_view special);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_COMPLETION_H_
