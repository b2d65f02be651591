// Sums over answers, as text.
#include "apps/verbatim/chat_stats.h"

#include <fmt/format.h>

#include "apps/verbatim/chat_commands.h"
#include "apps/verbatim/generation.h"
#include "apps/verbatim/json_output.h"

namespace verbatim::cli {

void ChatStats::Sums::Add(int64_t prompt, const Result& result) {
  ++answers;
  prompt_tokens += prompt;
  cached_tokens += result.cached_prompt_tokens;
  output_tokens += static_cast<int64_t>(result.token_ids.size());
  timed_tokens += TimedTokens(result);
  prompt_ms += result.timings.prompt_ms;
  predicted_ms += result.timings.predicted_ms;
  const SpeculationStats& added = result.speculation;
  speculation.rounds += added.rounds;
  speculation.drafted += added.drafted;
  speculation.tested += added.tested;
  speculation.accepted += added.accepted;
  for (int i = 0; i < kMaxDraftTokens; ++i) {
    speculation.drafted_at[i] += added.drafted_at[i];
    speculation.tested_at[i] += added.tested_at[i];
    speculation.accepted_at[i] += added.accepted_at[i];
  }
}

std::string ChatStats::Sums::Text() const {
  std::string text = fmt::format(
      "{} tokens, {:.1f} tokens/s; prompt {} tokens, {} of them cached, {:.1f} tokens/s",
      output_tokens, PerSecond(timed_tokens, predicted_ms), prompt_tokens, cached_tokens,
      PerSecond(prompt_tokens - cached_tokens, prompt_ms));
  Result drafts;
  drafts.speculation = speculation;
  drafts.token_ids.resize(static_cast<size_t>(timed_tokens + 1));
  if (const std::string summary = DraftSummary(drafts); !summary.empty()) {
    text += "\n  " + summary;
  }
  return text;
}

void ChatStats::Add(int64_t prompt_tokens, const Result& result) {
  last_ = {};
  last_.Add(prompt_tokens, result);
  all_.Add(prompt_tokens, result);
  conversation_tokens_ = prompt_tokens + static_cast<int64_t>(result.token_ids.size());
}

void ChatStats::Reset() {
  conversation_tokens_ = 0;
  last_ = {};
}

std::string ChatStats::Text(int64_t context, const SpeculationOptions& speculation) const {
  std::string text = fmt::format("conversation  {} of {} tokens\nspeculation   {}\n",
                                 conversation_tokens_, context, SpeculationText(speculation));
  if (last_.answers > 0) text += fmt::format("last answer   {}\n", last_.Text());
  text += fmt::format("{:<13} {}\n",
                      fmt::format("{} answer{}", all_.answers, all_.answers == 1 ? "" : "s"),
                      all_.Text());
  return text;
}

}  // namespace verbatim::cli
