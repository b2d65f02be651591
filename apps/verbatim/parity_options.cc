// Their table, and lists of widths.
#include "apps/verbatim/parity_options.h"

#include <fmt/format.h>

#include <cstdint>
#include <set>

#include "apps/verbatim/option_value.h"
#include "measure/op_parity.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kSection = "Parity";

}  // namespace

std::vector<OptionSpec> ParityOptionSpecs() {
  return {
      {.name = "WHAT",
       .kind = ValueKind::kWord,
       .value_name = "ops|chain",
       .words = {{"ops", "ops"}, {"chain", "chain"}},
       .positional = true,
       .section = kSection,
       .verbs = {Verb::kParity},
       .help = "ops: every op as one call of T rows against T calls of one row; chain: a model's "
               "tokens one by one against the same tokens as blocks, drafts accepted and rejected"},
      {.name = "prompt",
       .letter = 'p',
       .kind = ValueKind::kText,
       .value_name = "TEXT",
       .section = kSection,
       .verbs = {Verb::kParity},
       .help = "chain: the text that the chain follows; default a sentence"},
      {.name = "tokens",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = 4096,
       .default_value = "96",
       .section = kSection,
       .verbs = {Verb::kParity},
       .help = "chain: length of the chain behind the prompt"},
      {.name = "target",
       .kind = ValueKind::kWord,
       .value_name = "all|scalar|avx2|...",
       .words = {{"all", "all"},
                 {"scalar", "scalar"},
                 {"avx2", "avx2"},
                 {"avx512", "avx512"},
                 {"avx512vnni", "avx512vnni"},
                 {"neon", "neon"},
                 {"neon_dotprod", "neon_dotprod"}},
       .section = kSection,
       .verbs = {Verb::kParity},
       .help = "Instruction set, or all that this processor has; default VERBATIM_TARGET, else the "
               "best"},
      {.name = "contract",
       .kind = ValueKind::kWord,
       .value_name = "exact|greedy",
       .words = {{"exact", "exact"}, {"greedy", "greedy"}},
       .default_value = "exact",
       .section = kSection,
       .verbs = {Verb::kParity},
       .help =
           "exact: everything must be equal; greedy: matrix products of a vendor's library, whose "
           "differences are counted"},
      {.name = "seeds",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = 1000,
       .default_value = "3",
       .section = kSection,
       .verbs = {Verb::kParity},
       .help =
           "ops: times that everything is compared with other inputs, in turn of ordinary size, "
           "large and small; chain: patterns of rejected drafts for each width"},
      {.name = "widths",
       .kind = ValueKind::kText,
       .value_name = "LIST",
       .section = kSection,
       .verbs = {Verb::kParity},
       .help = "Rows of a block, e.g. 1-32 or 2,4,8-16; default 1-32 for ops, 1-16 for chain"},
      {.name = "ops",
       .kind = ValueKind::kText,
       .value_name = "LIST",
       .section = kSection,
       .verbs = {Verb::kParity},
       .help = "Only these ops, e.g. linear,attention; a wrong name lists them all"},
  };
}

Expected<std::vector<int>> ParseWidths(std::string_view text, int most) {
  const auto refuse = [&] {
    return MakeError(StatusCode::kInvalidArgument, "--widths",
                     fmt::format("numbers from 1 to {} or ranges of them between commas", most),
                     text, "--widths 1-32");
  };
  std::set<int> widths;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t dash = part.find('-');
    int64_t first = 0, last = 0;
    if (!ParseInteger(part.substr(0, dash), &first)) return refuse();
    last = first;
    if (dash != part.npos && !ParseInteger(part.substr(dash + 1), &last)) return refuse();
    if (first < 1 || last < first || last > most) return refuse();
    for (int64_t width = first; width <= last; ++width) widths.insert(static_cast<int>(width));
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  return std::vector<int>(widths.begin(), widths.end());
}

}  // namespace verbatim::cli
