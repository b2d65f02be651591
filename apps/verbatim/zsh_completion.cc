// The zsh script: one _arguments call per verb, made from the option table. Not the other shells.
#include <fmt/format.h>

#include "apps/verbatim/completion.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kHead = R"(#compdef verbatim
# zsh completion for verbatim; made by `verbatim completion zsh`. Not for editing.

# Words; behind one that ends in ":" a file.
_verbatim_words() {
  if compset -P '*:'; then
    _files
  else
    compadd -S '' -- ${(M)@:#*:}
    compadd -- ${@:#*:}
  fi
}

_verbatim() {
  local curcontext=$curcontext
  if ((CURRENT == 2)); then
    local -a verbs=(
)";

// Text inside single quotes of a script.
std::string Quote(std::string_view text) {
  std::string quoted;
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return fmt::format("'{}'", quoted);
}

// "DIR|ID:_files -/": the message and the action of a value.
std::string Action(const OptionSpec& option) {
  const ValueOffer offer = OfferFor(option);
  const std::string message = EscapeWith(option.value_name, ":");
  const std::string words = EscapeWith(JoinWords(offer.words, " "), ":");
  if (offer.takes_path_behind_a_word) return fmt::format("{}:_verbatim_words {}", message, words);
  if (offer.path == PathKind::kFile) return fmt::format("{}:_files", message);
  if (offer.path == PathKind::kFolder) return fmt::format("{}:_files -/", message);
  if (!words.empty()) return fmt::format("{}:({})", message, words);
  return fmt::format("{}: ", message);
}

std::string Argument(const OptionSpec& option, int position) {
  if (option.positional) return Quote(fmt::format("{}:{}", position, Action(option)));
  const bool takes_value = option.kind != ValueKind::kFlag;
  const std::string meaning = fmt::format("[{}]", EscapeWith(option.help, "[]"));
  const std::string tail = takes_value ? fmt::format("{}:{}", meaning, Action(option)) : meaning;
  // A repeated option excludes nothing, any other one its own spellings.
  const std::string before =
      option.repeated ? "*" : fmt::format("({})", JoinWords(SpellingsOf(option), " "));
  const std::string name = fmt::format("--{}{}", option.name, takes_value ? "=" : "");
  if (option.letter == 0) return Quote(before + name + tail);
  return fmt::format("{}{{-{},{}}}{}", Quote(before), option.letter, name, Quote(tail));
}

}  // namespace

std::string ZshCompletion() {
  std::string out(kHead);
  for (const VerbSpec& verb : AllVerbs()) {
    out += fmt::format("      {}\n",
                       Quote(fmt::format("{}:{}", verb.name, EscapeWith(verb.summary, ":"))));
  }
  out +=
      "    )\n    _describe -t verbs verb verbs\n    compadd -- --help --version\n    return\n  "
      "fi\n"
      "  local verb=$words[2]\n  shift words\n  ((CURRENT--))\n  case $verb in\n";
  for (const VerbSpec& verb : AllVerbs()) {
    out += fmt::format("    {})\n      _arguments -S", verb.name);
    int position = 0;
    for (const OptionSpec* option : OptionsOf(verb.verb)) {
      out += fmt::format(" \\\n        {}", Argument(*option, ++position));
    }
    out += "\n      ;;\n";
  }
  return out + "  esac\n}\n\n_verbatim \"$@\"\n";
}

}  // namespace verbatim::cli
