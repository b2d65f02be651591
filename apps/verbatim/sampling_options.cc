// Option by option. The engine checks the ranges again, with the vocabulary at hand.
#include "apps/verbatim/sampling_options.h"

#include <fmt/format.h>

#include <limits>
#include <random>

#include "apps/verbatim/token_list.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kSection = "Sampling";

OptionSpec Decimal(std::string_view name, std::vector<std::string_view> aliases, double least,
                   double most, std::vector<Verb> verbs, std::string_view help) {
  return {.name = name,
          .aliases = std::move(aliases),
          .kind = ValueKind::kDecimal,
          .value_name = "X",
          .least = least,
          .most = most,
          .section = kSection,
          .verbs = std::move(verbs),
          .help = help};
}

// "ID:BIAS", or llama.cpp's "ID+BIAS" and "ID-BIAS".
Expected<LogitBias> ParseBias(const std::string& text) {
  const auto refuse = [&] {
    return MakeError(StatusCode::kInvalidArgument, "--logit-bias",
                     fmt::format("ID:BIAS with a bias of {} to {}", -kMaxBias, kMaxBias), text,
                     "--logit-bias 42:-1.5");
  };
  const size_t sign = text.find_first_of(":+-");
  if (sign == std::string::npos) return refuse();
  const std::string_view view = text;
  std::string_view bias_text = view.substr(text[sign] == '-' ? sign : sign + 1);
  int64_t id = 0;
  double bias = 0;
  if (!ParseInteger(view.substr(0, sign), &id) || id < 0 ||
      id > std::numeric_limits<int32_t>::max() || !ParseDecimal(bias_text, &bias) ||
      !(bias >= -kMaxBias && bias <= kMaxBias)) {
    return refuse();
  }
  return LogitBias{.token_id = static_cast<int32_t>(id), .bias = static_cast<float>(bias)};
}

uint64_t RandomSeed() {
  std::random_device device;
  // 63 bits, so that the number can be given back to --seed.
  return ((uint64_t{device()} << 32) | device()) >> 1;
}

}  // namespace

std::vector<OptionSpec> SamplingOptionSpecs() {
  const std::vector<Verb> verbs = {Verb::kGenerate, Verb::kChat};
  constexpr int64_t kMostIds = std::numeric_limits<int32_t>::max();
  return {
      Decimal("temp", {"temperature"}, 0, kMaxTemperature, verbs,
              "0 is greedy; default from the model's generation_config.json, else 0"),
      {.name = "top-k",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = kMostIds,
       .section = kSection,
       .verbs = verbs,
       .help = "Draw from the N most probable tokens; 0 is all; default from the model, else 0"},
      Decimal("top-p", {}, 0, 1, verbs,
              "Draw from the fewest tokens with this much of the probability; default from the "
              "model, else 1"),
      Decimal("min-p", {}, 0, 1, verbs,
              "Draw from tokens with at least this share of the most probable one's probability; "
              "default from the model, else 0"),
      {.name = "seed",
       .letter = 's',
       .kind = ValueKind::kInteger,
       .value_name = "N|random",
       .min = 0,
       .max = std::numeric_limits<int64_t>::max(),
       .words = {{"random", "random", 0}},
       .default_value = "0",
       .section = kSection,
       .verbs = verbs,
       .help = "The same seed gives the same tokens; random is another one each time"},
      // Smaller ones make every logit infinite or nothing.
      Decimal("repeat-penalty", {"repetition-penalty"}, 0.01, kMaxPenalty, verbs,
              "Divides positive logits of tokens of the prompt and the output, multiplies negative "
              "ones; default from the model, else 1, which is none"),
      Decimal("presence-penalty", {}, -kMaxPenalty, kMaxPenalty, verbs,
              "Taken from the logit of every token of the output (default 0)"),
      Decimal("frequency-penalty", {}, -kMaxPenalty, kMaxPenalty, verbs,
              "Taken from a token's logit for each time that it is in the output (default 0)"),
      {.name = "logit-bias",
       .kind = ValueKind::kText,
       .value_name = "ID:BIAS",
       .repeated = true,
       .section = kSection,
       .verbs = verbs,
       .help = "Added to a token's logit; may be given several times; llama.cpp's ID+1 works too"},
      {.name = "ban-ids",
       .kind = ValueKind::kText,
       .value_name = "LIST",
       .section = kSection,
       .verbs = verbs,
       .help = "Token ids that are never chosen, e.g. 1,2,3"},
      {.name = "ban",
       .kind = ValueKind::kText,
       .value_name = "TEXT",
       .repeated = true,
       .section = kSection,
       .verbs = verbs,
       .help = "A text that the output never has, however it is cut into tokens; may be given "
               "several times"},
      {.name = "min-tokens",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = kMostIds,
       .default_value = "0",
       .section = kSection,
       .verbs = {Verb::kGenerate},
       .help = "Neither an end-of-sequence token nor a stop text ends the output before N tokens"},
      {.name = "logprobs",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 0,
       .max = kMaxTopLogprobs,
       .section = kSection,
       .verbs = {Verb::kGenerate},
       .help = "With --json: log-probabilities of each token and of the N most probable ones, raw "
               "and after all of the above"},
      {.name = "generation-config",
       .kind = ValueKind::kWord,
       .value_name = "auto|off",
       .words = {{"auto", "auto"}, {"off", "off"}},
       .default_value = "auto",
       .section = kSection,
       .verbs = verbs,
       .help = "Whether the model's generation_config.json gives the defaults"},
  };
}

Expected<SamplingArguments> SamplingArguments::Read(const CommandLine& line) {
  SamplingArguments arguments;
  const auto change = [&](auto apply) { arguments.changes_.emplace_back(std::move(apply)); };
  const auto decimal = [&](std::string_view name, float SamplingOptions::* field) {
    if (!line.Given(name)) return;
    const auto value = static_cast<float>(line.Value(name).decimal);
    change([field, value](SamplingOptions& sampling) { sampling.*field = value; });
  };
  decimal("temp", &SamplingOptions::temperature);
  decimal("top-p", &SamplingOptions::top_p);
  decimal("min-p", &SamplingOptions::min_p);
  decimal("repeat-penalty", &SamplingOptions::repetition_penalty);
  decimal("presence-penalty", &SamplingOptions::presence_penalty);
  decimal("frequency-penalty", &SamplingOptions::frequency_penalty);
  if (line.Given("temp")) {
    const auto temperature = static_cast<float>(line.Value("temp").decimal);
    if (temperature != 0 && temperature < kMinTemperature) {
      return MakeError(StatusCode::kInvalidArgument, "--temp",
                       fmt::format("0 or {} to {}", kMinTemperature, kMaxTemperature),
                       line.Text("temp"), "--temp 0");
    }
  }
  if (line.Given("top-k")) {
    change([k = line.Number("top-k")](SamplingOptions& sampling) { sampling.top_k = k; });
  }
  const uint64_t seed =
      line.Text("seed") == "random" ? RandomSeed() : static_cast<uint64_t>(line.Number("seed"));
  change([seed](SamplingOptions& sampling) { sampling.seed = seed; });
  for (const std::string& text : line.Texts("logit-bias")) {
    VERBATIM_ASSIGN_OR_RETURN(const LogitBias bias, ParseBias(text));
    change([bias](SamplingOptions& sampling) { sampling.logit_bias.push_back(bias); });
  }
  if (line.Given("ban-ids")) {
    VERBATIM_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                              ParseTokenIds(line.Text("ban-ids"), "--ban-ids", false));
    change([ids](SamplingOptions& sampling) { sampling.banned_token_ids = ids; });
  }
  change(
      [texts = line.Texts("ban")](SamplingOptions& sampling) { sampling.banned_strings = texts; });
  arguments.use_model_defaults_ = line.Text("generation-config") != "off";
  return arguments;
}

SamplingOptions SamplingArguments::Resolve(const EngineInfo& info) const {
  SamplingOptions sampling;
  if (use_model_defaults_) sampling = info.default_sampling;
  for (const auto& change : changes_) change(sampling);
  return sampling;
}

std::string SamplingSummary(const SamplingOptions& sampling, const EngineInfo& info) {
  std::string text;
  bool advised = false;
  const auto add = [&](std::string_view name, auto value, auto neutral, auto models) {
    if (value == neutral) return;
    const bool from_model = value == models;
    advised |= from_model;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", name, value, from_model ? "*" : "");
  };
  const SamplingOptions none;
  const SamplingOptions& model = info.default_sampling;
  const bool greedy = sampling.temperature == 0;
  if (greedy) {
    text = "greedy";
  } else {
    add("temperature", sampling.temperature, none.temperature, model.temperature);
    add("top-k", sampling.top_k, none.top_k, model.top_k);
    add("top-p", sampling.top_p, none.top_p, model.top_p);
    add("min-p", sampling.min_p, none.min_p, model.min_p);
  }
  add("repeat penalty", sampling.repetition_penalty, none.repetition_penalty,
      model.repetition_penalty);
  add("presence penalty", sampling.presence_penalty, none.presence_penalty, model.presence_penalty);
  add("frequency penalty", sampling.frequency_penalty, none.frequency_penalty,
      model.frequency_penalty);
  if (!sampling.logit_bias.empty()) {
    text += fmt::format(", {} biased ids", sampling.logit_bias.size());
  }
  if (!sampling.banned_token_ids.empty()) {
    text += fmt::format(", {} banned ids", sampling.banned_token_ids.size());
  }
  if (!sampling.banned_strings.empty()) {
    text += fmt::format(", {} banned texts", sampling.banned_strings.size());
  }
  if (sampling.min_tokens > 0) text += fmt::format(", at least {} tokens", sampling.min_tokens);
  if (!greedy) text += fmt::format(", seed {}", sampling.seed);
  if (advised) text += " (* generation_config.json)";
  return text;
}

}  // namespace verbatim::cli
