// StopMatcher by direct comparison: requests have a handful of short stop strings, so an automaton
// would not pay. Not for long lists of patterns.
#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace verbatim {

Expected<StopMatcher> StopMatcher::Create(std::vector<std::string> stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) {
      return MakeError(StatusCode::kInvalidArgument, "stop", "a stop string with at least one byte",
                       "an empty string");
    }
  }
  return StopMatcher(std::move(stops));
}

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) longest_ = std::max(longest_, stop.size());
}

StopMatcher::Result StopMatcher::Append(std::string_view piece) {
  safe_.clear();
  if (matched_) return {safe_, true};
  const size_t old_size = held_.size();
  held_ += piece;
  const std::string_view text(held_);
  for (size_t end = old_size + 1; end <= text.size(); ++end) {
    for (size_t i = 0; i < stops_.size(); ++i) {
      if (!text.substr(0, end).ends_with(stops_[i])) continue;
      if (!matched_ || stops_[i].size() > stops_[*matched_].size()) matched_ = i;
    }
    if (matched_) {
      safe_ = text.substr(0, end - stops_[*matched_].size());
      held_.clear();
      return {safe_, true};
    }
  }
  // Hold back the longest suffix that begins a stop string. It is shorter than the string, or it
  // would have matched.
  size_t keep = std::min(text.size(), longest_ > 0 ? longest_ - 1 : 0);
  const auto begins_a_stop = [this](std::string_view suffix) {
    return std::any_of(stops_.begin(), stops_.end(), [suffix](const std::string& stop) {
      return stop.size() > suffix.size() && stop.starts_with(suffix);
    });
  };
  while (keep > 0 && !begins_a_stop(text.substr(text.size() - keep))) --keep;
  safe_ = text.substr(0, text.size() - keep);
  held_.erase(0, held_.size() - keep);
  return {safe_, false};
}

StopMatcher::Result StopMatcher::Finish() {
  safe_ = std::exchange(held_, {});
  return {safe_, matched_.has_value()};
}

}  // namespace verbatim
