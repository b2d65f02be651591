// What flips measured, as a page (page.h) and as JSON. Not the measuring (measure/flips.h,
// measure/remote_flips.h).
#ifndef VERBATIM_APPS_FLIP_REPORT_H_
#define VERBATIM_APPS_FLIP_REPORT_H_

#include <span>
#include <string>

#include "apps/verbatim/json_writer.h"
#include "apps/verbatim/page.h"
#include "measure/flips.h"
#include "measure/remote_flips.h"

namespace verbatim::cli {

Page FlipPage(const FlipReport& report, std::span<const FlipPrompt> prompts);
std::string FlipJson(const FlipReport& report, std::span<const FlipPrompt> prompts);

Page RemoteFlipPage(const RemoteReport& report, std::span<const FlipPrompt> prompts);
std::string RemoteFlipJson(const RemoteReport& report, std::span<const FlipPrompt> prompts);

// Pieces of both.
std::string Grouped(int64_t value);  // "300,000"
std::string Percent(double share);   // "0.031 %"
std::string PerThousand(double rate);
// "0.02 to 0.05 %"; "at most 0.001 %" without events.
std::string PercentInterval(const Rate& rate);
std::string PerThousandInterval(const Rate& rate);
// The interval by prompt, or a dash where there is none.
std::string ClusteredPercent(const Rate& rate);
// A piece of text on one line, in quotes, control characters as \n and \xNN.
std::string Quoted(std::string_view text);
// "prompt 3 (code)", counted from 1.
std::string PromptName(std::span<const FlipPrompt> prompts, int64_t index);
void WriteRate(std::string_view key, const Rate& rate, JsonWriter& json);
void WriteSurvival(std::span<const SurvivalStep> steps, JsonWriter& json);
void WriteGaps(std::string_view key, const GapHistogram& gaps, JsonWriter& json);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_FLIP_REPORT_H_
