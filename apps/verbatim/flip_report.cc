// Figures as people read them, and the pieces of JSON that local and remote reports share.
#include "apps/verbatim/flip_report.h"

#include <fmt/format.h>

namespace verbatim::cli {

std::string Grouped(int64_t value) {
  std::string text = fmt::format("{}", value);
  const size_t sign = text.starts_with('-') ? 1 : 0;
  for (size_t i = text.size(); i > sign + 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string Percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string PerThousand(double rate) { return fmt::format("{:.3g}", 1000 * rate); }

std::string PercentInterval(const Rate& rate) {
  if (rate.exposure <= 0) return "-";
  if (rate.zero_bound) return fmt::format("at most {}", Percent(*rate.zero_bound));
  return fmt::format("{:.3g} to {}", 100 * rate.interval.low, Percent(rate.interval.high));
}

std::string PerThousandInterval(const Rate& rate) {
  if (rate.exposure <= 0) return "-";
  if (rate.zero_bound) return fmt::format("at most {}", PerThousand(*rate.zero_bound));
  return fmt::format("{:.3g} to {}", 1000 * rate.interval.low, PerThousand(rate.interval.high));
}

std::string ClusteredPercent(const Rate& rate) {
  if (!rate.clustered) return "-";
  return fmt::format("{:.3g} to {}", 100 * rate.clustered->low, Percent(rate.clustered->high));
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ' || c == 127) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

std::string PromptName(std::span<const FlipPrompt> prompts, int64_t index) {
  const std::string& category = prompts[static_cast<size_t>(index)].category;
  return category.empty() ? fmt::format("prompt {}", index + 1)
                          : fmt::format("prompt {} ({})", index + 1, category);
}

void WriteRate(std::string_view key, const Rate& rate, JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("events").Integer(rate.events).Key("exposure").Double(rate.exposure);
  json.Key("rate").Double(rate.rate);
  json.Key("confidence").Double(kConfidence);
  json.Key("low").Double(rate.interval.low).Key("high").Double(rate.interval.high);
  if (rate.clustered) {
    json.Key("bootstrap_by_prompt").BeginObject();
    json.Key("low").Double(rate.clustered->low).Key("high").Double(rate.clustered->high);
    json.EndObject();
  }
  if (rate.zero_bound) json.Key("upper_bound_3_over_n").Double(*rate.zero_bound);
  json.EndObject();
}

void WriteSurvival(std::span<const SurvivalStep> steps, JsonWriter& json) {
  json.Key("survival").BeginArray();
  for (const SurvivalStep& step : steps) {
    json.BeginObject().Key("token").Integer(step.time).Key("at_risk").Integer(step.at_risk);
    json.Key("events").Integer(step.events).Key("survival").Double(step.survival);
    json.Key("low").Double(step.band.low).Key("high").Double(step.band.high).EndObject();
  }
  json.EndArray();
}

void WriteGaps(std::string_view key, const GapHistogram& gaps, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (size_t bin = 0; bin < GapHistogram::kNumBins; ++bin) {
    if (gaps[bin] == 0) continue;
    json.BeginObject().Key("from").Double(GapHistogram::LowerEdge(bin));
    json.Key("count").Integer(gaps[bin]).EndObject();
  }
  json.EndArray();
}

}  // namespace verbatim::cli
