// Options of `flips` that no other verb has, or that mean something else there.
#include "apps/verbatim/flip_options.h"

#include "apps/verbatim/option_value.h"
#include "verbatim/request.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kFlipSection = "Flips";
constexpr std::string_view kServerSection = "Two servers";
constexpr std::string_view kOutputSection = "Output";
// A day on two cores; and 40 bytes of memory each.
constexpr int64_t kMaxPositions = 100'000'000;
constexpr int64_t kMaxTokens = 65536;
constexpr int64_t kMaxSeed = int64_t{1} << 62;
constexpr int64_t kMaxTimeout = 86400;  // a day

std::vector<OptionSpec> MeasureOptions() {
  return {
      {.name = "contract",
       .kind = ValueKind::kWord,
       .value_name = "exact|strict|greedy",
       .words = {{"exact", "exact"}, {"strict", "strict"}, {"greedy", "greedy"}},
       .default_value = "exact",
       .section = kFlipSection,
       .verbs = {Verb::kFlips},
       .help = "The mode to measure; in exact and strict any difference is exit code 3, greedy is "
               "the vendor's matrix products, whose rate is only reported"},
      {.name = "widths",
       .kind = ValueKind::kText,
       .value_name = "LIST",
       .default_value = "2,4,8,16",
       .section = kFlipSection,
       .verbs = {Verb::kFlips},
       .help = "Rows per block, each 2 to 16"},
      {.name = "positions",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = kMaxPositions,
       .default_value = "10000",
       .section = kFlipSection,
       .verbs = {Verb::kFlips},
       .help = "Teacher-forced positions: of the prompts, then of continuations that the model "
               "writes at temperature 0.8; 0 leaves this part out"},
      {.name = "tokens",
       .letter = 'n',
       .aliases = {"max-tokens", "n-predict"},
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = kMaxTokens,
       .default_value = "128",
       .section = kFlipSection,
       .verbs = {Verb::kFlips},
       .help = "Tokens to generate per prompt; 0 leaves free-running out"},
      {.name = "spec",
       .kind = ValueKind::kWord,
       .value_name = "auto|mtp|ngram|replay|wrong",
       .words = {{"auto", "auto"},
                 {"mtp", "mtp"},
                 {"ngram", "ngram"},
                 {"replay", "replay"},
                 {"wrong", "wrong"}},
       .default_value = "auto",
       .section = kFlipSection,
       .verbs = {Verb::kFlips},
       .help = "Who drafts when free-running; replay drafts the classic output itself, auto is the "
               "MTP head where there is one, else replay"},
      {.name = "prompts",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kFlipSection,
       .verbs = {Verb::kFlips},
       .help =
           "Prompts instead of the 28 of the program: JSON Lines with text, prompt or messages, "
           "or plain text with lines of --- between them"},
      {.name = "seed",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = kMaxSeed,
       .default_value = "0",
       .section = kFlipSection,
       .verbs = {Verb::kFlips},
       .help = "Of the sampled texts and of the bootstrap, and what servers get"},
  };
}

std::vector<OptionSpec> ServerOptions() {
  return {
      {.name = "baseline",
       .kind = ValueKind::kText,
       .value_name = "URL",
       .section = kServerSection,
       .verbs = {Verb::kFlips},
       .help = "An OpenAI-compatible server without speculation, http or https"},
      {.name = "candidate",
       .kind = ValueKind::kText,
       .value_name = "URL",
       .section = kServerSection,
       .verbs = {Verb::kFlips},
       .help = "The server to compare with it"},
      {.name = "endpoint",
       .kind = ValueKind::kWord,
       .value_name = "auto|completions|chat",
       .words = {{"auto", "auto"}, {"completions", "completions"}, {"chat", "chat"}},
       .default_value = "auto",
       .section = kServerSection,
       .verbs = {Verb::kFlips},
       .help = "Where prompts go; auto is chat for prompts with messages and for servers without "
               "completions"},
      {.name = "model-name",
       .kind = ValueKind::kText,
       .value_name = "NAME",
       .section = kServerSection,
       .verbs = {Verb::kFlips},
       .help = "The model to ask the servers for; without it the first that each one lists"},
      {.name = "api-key",
       .kind = ValueKind::kText,
       .value_name = "KEY",
       .section = kServerSection,
       .verbs = {Verb::kFlips},
       .help = "Sent to both servers as a bearer token"},
      {.name = "logprobs",
       .kind = ValueKind::kWord,
       .value_name = "on|off",
       .words = {{"on", "on"}, {"off", "off"}},
       .default_value = "on",
       .section = kServerSection,
       .verbs = {Verb::kFlips},
       .help = "Ask for log-probabilities, which tell the tokens and how near the choice was; off "
               "compares texts"},
      {.name = "timeout",
       .kind = ValueKind::kInteger,
       .value_name = "SECONDS",
       .min = 1,
       .max = kMaxTimeout,
       .default_value = "300",
       .section = kServerSection,
       .verbs = {Verb::kFlips},
       .help = "Time for one answer"},
      {.name = "html",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kOutputSection,
       .verbs = {Verb::kFlips},
       .help = "Also write the report as one page with plots"},
  };
}

}  // namespace

std::vector<OptionSpec> FlipOptionSpecs() {
  std::vector<OptionSpec> all = MeasureOptions();
  for (OptionSpec& option : ServerOptions()) all.push_back(std::move(option));
  return all;
}

Expected<std::vector<int>> ParseWidths(std::string_view text) {
  const auto fault = [text] {
    return MakeError(StatusCode::kInvalidArgument, "--widths", "rising numbers of 2 to 16", text,
                     "--widths 2,4,8,16");
  };
  std::vector<int> widths;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    int64_t width = 0;
    if (!ParseInteger(text.substr(0, comma), &width)) return fault();
    if (width < 2 || width > kMaxDraftTokens + 1) return fault();
    if (!widths.empty() && width <= widths.back()) return fault();
    widths.push_back(static_cast<int>(width));
    if (more) text.remove_prefix(comma + 1);
  }
  return widths;
}

}  // namespace verbatim::cli
