// The demo's table, made of plain text so that it reads the same in a log.
#include "apps/verbatim/demo_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/verbatim/json_output.h"

namespace verbatim::cli {
namespace {

// 1234567 -> "1,234,567".
std::string Grouped(int64_t value) {
  const std::string digits = fmt::format("{}", value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string SpeedsOf(int repetitions) {
  if (repetitions == 0) return "of the runs above";
  if (repetitions == 1) return "of a silent run of each arm";
  return fmt::format("medians of {} silent runs of each arm, taken in turn", repetitions);
}

std::string DraftTable(const SpeculationStats& stats) {
  std::string out;
  for (int i = 0; i < DraftPositions(stats); ++i) {
    if (stats.tested_at[i] == 0) continue;
    const double rate =
        100.0 * static_cast<double>(stats.accepted_at[i]) / static_cast<double>(stats.tested_at[i]);
    // In the column of the arm that drafted.
    out += fmt::format("  {:<40}{:>10.1f} %   {} of {}\n", fmt::format("draft {} accepted", i + 1),
                       rate, stats.accepted_at[i], stats.tested_at[i]);
  }
  return out;
}

}  // namespace

ArmComparison CompareArms(const Result& classic, const Result& mtp, int64_t vocab_size) {
  ArmComparison comparison;
  const size_t common = std::min(classic.token_ids.size(), mtp.token_ids.size());
  comparison.tokens =
      static_cast<int64_t>(std::max(classic.token_ids.size(), mtp.token_ids.size()));
  comparison.tokens_that_differ = comparison.tokens - static_cast<int64_t>(common);
  for (size_t i = 0; i < common; ++i) {
    if (classic.token_ids[i] == mtp.token_ids[i]) continue;
    ++comparison.tokens_that_differ;
    if (comparison.first_difference < 0) comparison.first_difference = static_cast<int64_t>(i);
  }
  if (comparison.first_difference < 0 && comparison.tokens_that_differ > 0) {
    comparison.first_difference = static_cast<int64_t>(common);
  }
  comparison.logits_bytes = comparison.tokens * vocab_size * static_cast<int64_t>(sizeof(float));
  // Two empty digests would be equal and prove nothing.
  comparison.logits_equal =
      !classic.logits_sha256.empty() && classic.logits_sha256 == mtp.logits_sha256;
  comparison.text_equal = classic.text == mtp.text;
  return comparison;
}

std::string DemoReport(const Result& classic, const Result& mtp, const ArmComparison& comparison,
                       const DemoSpeeds& speeds, const Terminal& terminal) {
  const auto row = [](std::string_view label, std::string_view a, std::string_view b) {
    return fmt::format("  {:<28}{:>12}{:>12}\n", label, a, b);
  };
  // The first token belongs to the prompt: one token alone has no speed.
  const bool timed = comparison.tokens >= 2 && speeds.classic > 0 && speeds.mtp > 0;
  std::string out = terminal.OnOutput(Style::kBold, row("", "classic", "MTP"));
  out += row("tokens", Grouped(static_cast<int64_t>(classic.token_ids.size())),
             Grouped(static_cast<int64_t>(mtp.token_ids.size())));
  if (comparison.equal()) {
    const auto cell = [timed](double value, std::string_view unit, int digits) {
      return timed ? fmt::format("{:.{}f}{}", value, digits, unit) : std::string("-");
    };
    out += row("tokens/s", cell(speeds.classic, "", 1), cell(speeds.mtp, "", 1));
    out += row("speed-up", cell(1, "x", 2), cell(speeds.mtp / speeds.classic, "x", 2));
    out += DraftTable(mtp.speculation);
  }
  const auto verdict = [&](std::string_view what, int64_t compared, bool equal,
                           std::string_view differ) {
    return fmt::format("  {:<28}{:>12}   {}\n", what, Grouped(compared),
                       terminal.OnOutput(equal ? Style::kGood : Style::kBad, differ));
  };
  out += "\n";
  out += verdict("tokens compared", comparison.tokens, comparison.tokens_that_differ == 0,
                 comparison.tokens_that_differ == 0
                     ? "0 differ"
                     : fmt::format("{} differ, the first is token {}",
                                   comparison.tokens_that_differ, comparison.first_difference));
  out += verdict("logits bytes compared", comparison.logits_bytes, comparison.logits_equal,
                 comparison.logits_equal ? "0 differ" : "digests differ");
  if (comparison.logits_equal) {
    out +=
        terminal.OnOutput(Style::kDim, fmt::format("  sha256 {} in both\n", classic.logits_sha256));
  } else {
    out += fmt::format("  sha256 {} classic\n  sha256 {} MTP\n", classic.logits_sha256,
                       mtp.logits_sha256);
  }
  if (!comparison.text_equal) out += terminal.OnOutput(Style::kBad, "  the texts differ\n");
  if (comparison.equal() && timed) {
    out +=
        terminal.OnOutput(Style::kDim, fmt::format("  speeds: {}\n", SpeedsOf(speeds.repetitions)));
  } else if (!comparison.equal()) {
    out += terminal.OnOutput(Style::kBad, "  the arms differ, so no speed-up is given\n");
  }
  return out;
}

}  // namespace verbatim::cli
