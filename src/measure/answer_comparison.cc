// CompareAnswers: tokens where both arms tell them, characters else, and every channel. Not the
// statistics.
#include <algorithm>
#include <cstddef>

#include "measure/free_running.h"
#include "measure/remote_flips.h"

namespace verbatim {
namespace {

constexpr size_t kShownBytes = 48;  // enough to see what happened, in half a line

// The start of every UTF-8 sequence; bytes that are none count alone.
std::vector<size_t> CharacterStarts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  }
  return starts;
}

std::string Shown(std::string_view text, size_t from) {
  if (from >= text.size()) return "(end)";
  size_t end = std::min(text.size(), from + kShownBytes);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return std::string(text.substr(from, end - from));
}

std::string Shown(const std::vector<AnsweredToken>& tokens, size_t at) {
  if (at >= tokens.size()) return "(end)";
  if (tokens[at].text.empty() || tokens[at].text.starts_with("token_id:")) {
    return "token " + std::to_string(tokens[at].id);
  }
  return tokens[at].text;
}

struct TextDifference {
  int64_t characters = 0;  // before it, or all
  std::optional<size_t> byte;
};

TextDifference DifferenceOf(std::string_view a, std::string_view b) {
  const auto [at, other] = std::ranges::mismatch(a, b);
  const auto byte = static_cast<size_t>(at - a.begin());
  if (byte == a.size() && byte == b.size()) {
    return {.characters = static_cast<int64_t>(CharacterStarts(a).size()), .byte = {}};
  }
  // Back to the beginning of the character, so that none is shown in half.
  size_t start = byte;
  while (start > 0 && start < a.size() && (static_cast<unsigned char>(a[start]) & 0xC0) == 0x80) {
    --start;
  }
  return {.characters = static_cast<int64_t>(CharacterStarts(a.substr(0, start)).size()),
          .byte = start};
}

// The first channel in reading order that differs; `characters` are those before it.
std::optional<Divergence> CompareChannels(const Answer& a, const Answer& b, int64_t* characters) {
  struct Pair {
    Channel channel;
    const std::string& a;
    const std::string& b;
  };
  *characters = 0;
  for (const Pair& pair :
       {Pair{Channel::kReasoning, a.reasoning, b.reasoning}, Pair{Channel::kText, a.text, b.text},
        Pair{Channel::kToolCalls, a.tool_calls, b.tool_calls}}) {
    const TextDifference difference = DifferenceOf(pair.a, pair.b);
    *characters += difference.characters;
    if (!difference.byte) continue;
    return Divergence{.channel = pair.channel,
                      .position = *characters,
                      .a = Shown(pair.a, *difference.byte),
                      .b = Shown(pair.b, *difference.byte),
                      .gap = {}};
  }
  return std::nullopt;
}

AnswerComparison CompareByCharacters(const Answer& a, const Answer& b) {
  AnswerComparison comparison = {.unit = AnswerUnit::kCharacters};
  int64_t equal = 0;
  comparison.divergence = CompareChannels(a, b, &equal);
  comparison.units = equal + (comparison.divergence ? 1 : 0);
  const auto all =
      static_cast<double>(CharacterStarts(a.reasoning).size() + CharacterStarts(a.text).size() +
                          CharacterStarts(a.tool_calls).size());
  comparison.tokens = static_cast<double>(comparison.units);
  if (a.completion_tokens > 0 && all > 0) {
    comparison.tokens = static_cast<double>(a.completion_tokens) *
                        std::min(1.0, static_cast<double>(comparison.units) / all);
    if (comparison.divergence) comparison.tokens = std::max(comparison.tokens, 1.0);
  }
  return comparison;
}

}  // namespace

std::string_view AnswerUnitName(AnswerUnit unit) {
  switch (unit) {
    case AnswerUnit::kTokenIds:
      return "token ids";
    case AnswerUnit::kTokenTexts:
      return "token texts";
    case AnswerUnit::kCharacters:
      break;
  }
  return "characters";
}

std::string_view ChannelName(Channel channel) {
  switch (channel) {
    case Channel::kTokens:
      return "tokens";
    case Channel::kReasoning:
      return "reasoning";
    case Channel::kText:
      return "text";
    case Channel::kToolCalls:
      break;
  }
  return "tool calls";
}

std::string_view DraftVerdictName(DraftVerdict verdict) {
  switch (verdict) {
    case DraftVerdict::kUntold:
      return "untold";
    case DraftVerdict::kNone:
      return "none";
    case DraftVerdict::kRan:
      break;
  }
  return "ran";
}

AnswerComparison CompareAnswers(const Answer& a, const Answer& b) {
  if (a.tokens.empty() || b.tokens.empty()) return CompareByCharacters(a, b);
  AnswerComparison comparison;
  const bool ids = a.has_ids && b.has_ids;
  comparison.unit = ids ? AnswerUnit::kTokenIds : AnswerUnit::kTokenTexts;
  const size_t common = std::min(a.tokens.size(), b.tokens.size());
  size_t at = 0;
  while (at < common &&
         (ids ? a.tokens[at].id == b.tokens[at].id : a.tokens[at].text == b.tokens[at].text)) {
    ++at;
  }
  comparison.units = static_cast<int64_t>(at);
  if (at < a.tokens.size() || at < b.tokens.size()) {
    comparison.divergence = Divergence{.channel = Channel::kTokens,
                                       .position = static_cast<int64_t>(at),
                                       .a = Shown(a.tokens, at),
                                       .b = Shown(b.tokens, at),
                                       .gap = {}};
    if (at < a.tokens.size()) comparison.divergence->gap = a.tokens[at].gap;
    ++comparison.units;
  } else {
    // The same tokens can still be parted into channels in different ways.
    int64_t equal = 0;
    comparison.divergence = CompareChannels(a, b, &equal);
    if (comparison.divergence) comparison.divergence->position = comparison.units;
  }
  comparison.tokens = static_cast<double>(comparison.units);
  return comparison;
}

}  // namespace verbatim
