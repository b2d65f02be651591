// One option's text turned into a checked value. Not the splitting of a command line.
#ifndef VERBATIM_APPS_OPTION_VALUE_H_
#define VERBATIM_APPS_OPTION_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "apps/verbatim/options.h"
#include "verbatim/status.h"

namespace verbatim::cli {

struct OptionValue {
  std::string text;       // as given; a word in its canonical form, without its path
  int64_t number = 0;     // kInteger: the number, or what the word stands for
  double decimal = 0;     // kDecimal
  std::string path = {};  // what follows a word that takes a path
};

// The whole text must be a decimal integer: no sign but -, no space, nothing behind it.
bool ParseInteger(std::string_view text, int64_t* value);

// The whole text must be a finite decimal number, maybe with an exponent.
bool ParseDecimal(std::string_view text, double* value);

// "--threads", or "IN" for a positional.
std::string OptionLabel(const OptionSpec& option);

// Errors: kInvalidArgument, "[--draft-tokens] expected 1 to 15 or auto, received 99; try ...".
Expected<OptionValue> ParseOptionValue(const OptionSpec& option, std::string_view text,
                                       const VerbSpec& verb);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_OPTION_VALUE_H_
