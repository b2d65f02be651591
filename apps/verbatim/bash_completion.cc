// The bash script: two lookup functions made from the option table, and one that walks the words.
// Not the other shells.
#include <fmt/format.h>

#include "apps/verbatim/completion.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kHead =
    R"(# bash completion for verbatim; made by `verbatim completion bash`. Not for editing.

)";

// Bash splits words at the characters of COMP_WORDBREAKS, : and = among them, which are part of our
// values: the words are put together again, and what readline takes for the current word is cut off
// the answers. Where a path is expected and no word matches, readline completes it: it knows about
// quotes and ~.
constexpr std::string_view kWalk = R"(_verbatim() {
  COMPREPLY=()
  local -a words=()
  local rest=${COMP_LINE:0:COMP_POINT} trimmed i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    trimmed=${rest#"${rest%%[![:space:]]*}"}
    if ((i == 0)) || [[ $trimmed != "$rest" ]]; then words+=(""); fi
    if ((i == COMP_CWORD)); then
      words[-1]+=$trimmed
    else
      words[-1]+=${COMP_WORDS[i]}
      rest=${trimmed:${#COMP_WORDS[i]}}
    fi
  done

  local cur=${words[-1]} verb=${words[1]} offered="" path="" split=""
  if ((${#words[@]} == 2)); then
    offered=$(_verbatim_verbs)
  else
    # What the word before takes, and how many words stood for themselves.
    local expecting="" position=1
    for i in "${words[@]:2:${#words[@]}-3}"; do
      if [[ $expecting ]]; then
        expecting=""
      elif [[ $i == -?* ]]; then
        if [[ $i != *=* ]] && _verbatim_value "$verb" "$i"; then expecting=$i; fi
      else
        position=$((position + 1))
      fi
    done
    offered="" path=""
    if [[ ! $expecting && $cur == --*=* ]]; then
      expecting=${cur%%=*} cur=${cur#*=}
      _verbatim_value "$verb" "$expecting" || return
      # Where = does not split words, the answer has to repeat what stands before it.
      [[ $COMP_WORDBREAKS == *=* ]] || split="$expecting="
    elif [[ $expecting ]]; then
      _verbatim_value "$verb" "$expecting"
    elif [[ $cur == -* ]]; then
      offered=$(_verbatim_options "$verb")
    else
      _verbatim_value "$verb" "$position" || offered=$(_verbatim_options "$verb")
    fi
  fi

  local word
  for word in $offered; do
    if [[ $word == *: && $cur == "$word"* ]]; then path=file; fi
    if [[ $word == "$cur"* ]]; then COMPREPLY+=("$split$word"); fi
  done
  if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *: ]]; then
    if [[ $cur == *: ]]; then COMPREPLY=(); else compopt -o nospace; fi
  fi
  if [[ ${#COMPREPLY[@]} == 0 && $path == file ]]; then compopt -o default; fi
  if [[ ${#COMPREPLY[@]} == 0 && $path == folder ]]; then compopt -o dirnames; fi
}

complete -F _verbatim verbatim
)";

std::string_view NameOf(PathKind path) {
  switch (path) {
    case PathKind::kFile:
      return "file";
    case PathKind::kFolder:
      return "folder";
    case PathKind::kNone:
      break;
  }
  return "";
}

// One line of _verbatim_value. `keys` are alternatives of a case pattern.
std::string ValueCase(const std::vector<std::string>& keys, const OptionSpec& option) {
  const ValueOffer offer = OfferFor(option);
  return fmt::format("    {}) offered=\"{}\" path={} ;;\n", JoinWords(keys, " | "),
                     JoinWords(offer.words, " "), NameOf(offer.path));
}

}  // namespace

std::string BashCompletion() {
  std::string verbs;
  std::string options;
  std::string values;
  for (const VerbSpec& verb : AllVerbs()) {
    verbs += fmt::format("{} ", verb.name);
    std::vector<std::string> names;
    int position = 0;
    for (const OptionSpec* option : OptionsOf(verb.verb)) {
      std::vector<std::string> keys;
      if (option->positional) {
        keys.push_back(fmt::format("'{} {}'", verb.name, ++position));
      } else {
        names.push_back(fmt::format("--{}", option->name));
        for (const std::string& spelling : SpellingsOf(*option)) {
          keys.push_back(fmt::format("'{} {}'", verb.name, spelling));
        }
      }
      if (option->kind != ValueKind::kFlag) values += ValueCase(keys, *option);
    }
    options += fmt::format("    {}) echo \"{}\" ;;\n", verb.name, JoinWords(names, " "));
  }
  return fmt::format(
      "{}_verbatim_verbs() {{\n  echo \"{}--help --version\"\n}}\n\n"
      "_verbatim_options() {{  # verb\n  case $1 in\n{}  esac\n}}\n\n"
      "# Sets what is offered for a value; fails if there is none to give.\n"
      "_verbatim_value() {{  # verb, option or position\n  case \"$1 $2\" in\n{}"
      "    *) return 1 ;;\n  esac\n}}\n\n{}",
      kHead, verbs, options, values, kWalk);
}

}  // namespace verbatim::cli
