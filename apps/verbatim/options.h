// The option table: every verb and every option, once. Parsing, help and documents are made from
// it. Not the parser.
#ifndef VERBATIM_APPS_OPTIONS_H_
#define VERBATIM_APPS_OPTIONS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace verbatim::cli {

enum class Verb : uint8_t {
  kGenerate,
  kChat,
  kScore,
  kQuantize,
  kInspect,
  kDemo,
  kBench,
  kParity,
  kFlips,
  kReceipt,
  kServe,
  kBenchServe,
  kCompletion,
  kVersion,
  kHelp
};

struct VerbSpec {
  Verb verb;
  std::string_view name;
  std::string_view summary;                     // one sentence
  std::string_view usage;                       // what follows the verb
  std::vector<std::string_view> examples = {};  // command lines, without the program's name
};

enum class ValueKind : uint8_t {
  kFlag,     // takes no value; may be repeated
  kInteger,  // in [min, max], or one of the words
  kDecimal,  // in [least, most]
  kWord,     // one of the words
  kText,     // any text
};

// A value with a name. Aliases are words with another canonical form.
struct Word {
  std::string_view text;
  std::string_view canonical;
  int64_t number = 0;       // kInteger: what the word stands for
  bool takes_path = false;  // written "text:PATH"
};

struct OptionSpec {
  std::string_view name;  // long name without dashes; a positional's is upper-case
  char letter = 0;        // short form, 0 for none
  std::vector<std::string_view> aliases = {};  // further long names, other programs' spellings
  ValueKind kind = ValueKind::kFlag;
  // In help: "N", "off|mtp|..."; empty for a flag. Completions go by it: FILE, DIR and VERB, alone
  // or among others between bars, mean what they say.
  std::string_view value_name = {};
  int64_t min = 0, max = 0;        // kInteger
  double least = 0, most = 0;      // kDecimal
  std::vector<int64_t> only = {};  // kInteger: if not empty, the only values in [min, max] allowed
  std::vector<Word> words = {};    // kInteger, kWord
  bool repeated = false;           // may be given more than once, all values count
  bool positional = false;
  std::string_view instead = {};        // the option that may stand for this positional
  std::string_view default_value = {};  // parsed like a given one; empty: none
  std::string_view section = {};        // heading in help
  std::vector<Verb> verbs = {};
  std::string_view help = {};  // one sentence, without a full stop
};

std::span<const VerbSpec> AllVerbs();
std::span<const OptionSpec> AllOptions();

const VerbSpec* FindVerb(std::string_view name);  // nullptr if there is none
const VerbSpec& SpecOf(Verb verb);
// The options of one verb in table order, positionals first.
std::vector<const OptionSpec*> OptionsOf(Verb verb);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_OPTIONS_H_
