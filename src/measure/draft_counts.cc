// Names of llama.cpp, vLLM and SGLang.
#include "measure/draft_counts.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace verbatim {
namespace {

using nlohmann::json;

std::optional<int64_t> CountOf(const json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<int64_t>();
}

}  // namespace

std::optional<DraftCounts> FindDraftCounts(const json& value) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kNames = {
      {{"draft_n", "draft_n_accepted"},
       {"num_draft_tokens", "num_accepted_draft_tokens"},
       {"spec_draft_token_num", "spec_accept_token_num"}}};
  if (value.is_object()) {
    for (const auto& [drafted, accepted] : kNames) {
      if (const auto count = CountOf(value, drafted)) {
        return DraftCounts{.drafted = *count, .accepted = CountOf(value, accepted).value_or(0)};
      }
    }
  }
  if (!value.is_structured()) return std::nullopt;
  for (const json& member : value) {
    if (const auto found = FindDraftCounts(member)) return found;
  }
  return std::nullopt;
}

std::optional<DraftCounts> ParseDraftMetrics(std::string_view page) {
  constexpr std::string_view kDrafted = "spec_decode_num_draft_tokens_total";
  constexpr std::string_view kAccepted = "spec_decode_num_accepted_tokens_total";
  DraftCounts counts;
  bool found = false;
  while (!page.empty()) {
    const size_t end = page.find('\n');
    std::string_view line = page.substr(0, end);
    page.remove_prefix(end == std::string_view::npos ? page.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const std::string_view name = line.substr(0, line.find_first_of("{ "));
    const size_t space = line.rfind(' ');
    if (space == std::string_view::npos) continue;
    double value = 0;
    const std::string_view number = line.substr(space + 1);
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc()) {
      continue;
    }
    if (name.ends_with(kDrafted)) {
      counts.drafted += static_cast<int64_t>(value);
      found = true;
    } else if (name.ends_with(kAccepted)) {
      counts.accepted += static_cast<int64_t>(value);
    }
  }
  return found ? std::optional(counts) : std::nullopt;
}

}  // namespace verbatim
