// The fish script: one complete line per option, made from the option table. Not the other shells.
#include <fmt/format.h>

#include "apps/verbatim/completion.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kHead =
    R"(# fish completion for verbatim; made by `verbatim completion fish`. Not for editing.

function __verbatim_verb --description 'Whether the verb is the given one; none given: whether there is none yet'
  set -l words (commandline -opc)
  if test (count $argv) = 0
    test (count $words) = 1
  else
    test (count $words) -ge 2; and test $words[2] = $argv[1]
  end
end

function __verbatim_files_behind --description 'Files behind a word that ends in ":"'
  set -l behind (string replace -- $argv[1] '' (commandline -ct))
  string match -q -- "$argv[1]*" (commandline -ct); and printf "$argv[1]%s\n" (__fish_complete_path $behind)
end

complete -c verbatim -f
)";

std::string Quote(std::string_view text) { return fmt::format("'{}'", EscapeWith(text, "\\'")); }

// What stands behind -a, and whether the files that fish offers by itself are wanted.
std::string Arguments(const OptionSpec& option) {
  const ValueOffer offer = OfferFor(option);
  std::string words = JoinWords(offer.words, " ");
  if (offer.path == PathKind::kFolder) words += "(__fish_complete_directories)";
  if (offer.path == PathKind::kFile) words += "(__fish_complete_path)";
  for (const std::string& word : offer.words) {
    if (word.ends_with(':')) words += fmt::format(" (__verbatim_files_behind {})", word);
  }
  return words.empty() ? "" : fmt::format(" -a {}", Quote(words));
}

std::string OptionLine(const VerbSpec& verb, const OptionSpec& option) {
  std::string line = fmt::format("complete -c verbatim -n '__verbatim_verb {}'", verb.name);
  if (!option.positional) {
    if (option.letter != 0) line += fmt::format(" -s {}", option.letter);
    line += fmt::format(" -l {}", option.name);
    if (option.kind != ValueKind::kFlag) line += " -x";
  }
  return fmt::format("{}{} -d {}\n", line, Arguments(option), Quote(option.help));
}

}  // namespace

std::string FishCompletion() {
  std::string out(kHead);
  for (const VerbSpec& verb : AllVerbs()) {
    out += fmt::format("complete -c verbatim -n __verbatim_verb -a {} -d {}\n", verb.name,
                       Quote(verb.summary));
  }
  out += "complete -c verbatim -n __verbatim_verb -l help -d 'Help for the program'\n";
  out += "complete -c verbatim -n __verbatim_verb -l version -d 'What this build is'\n";
  for (const VerbSpec& verb : AllVerbs()) {
    for (const OptionSpec* option : OptionsOf(verb.verb)) out += OptionLine(verb, *option);
  }
  return out;
}

}  // namespace verbatim::cli
