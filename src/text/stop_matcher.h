// StopMatcher: finds stop strings in streamed text and holds back what may become one. Not for stop
// tokens, which are ids.
#ifndef VERBATIM_TEXT_STOP_MATCHER_H_
#define VERBATIM_TEXT_STOP_MATCHER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

// The match is the stop string that is complete first, which is the moment when generation ends; of
// several that end there, the longest. The text in front of it is emitted, nothing from its first
// byte on. All of this depends on the text alone, not on how it was cut into pieces.
class StopMatcher {
 public:
  // No stop strings: every text is safe at once. Errors: kInvalidArgument for an empty stop string.
  static Expected<StopMatcher> Create(std::vector<std::string> stops);

  struct Result {
    std::string_view text;  // safe to emit; good until the next call
    bool stopped = false;   // a stop string matched, now or before
  };

  // Takes the next piece, of whole characters. After a match, pieces are dropped.
  Result Append(std::string_view piece);

  // Ends the text: returns what was held back (nothing after a match).
  Result Finish();

  // Which of `stops` matched, by index.
  std::optional<size_t> matched() const { return matched_; }

 private:
  explicit StopMatcher(std::vector<std::string> stops);

  std::vector<std::string> stops_;
  size_t longest_ = 0;
  std::string held_;  // a suffix of the text so far that begins a stop string
  std::string safe_;
  std::optional<size_t> matched_;
};

}  // namespace verbatim

#endif  // VERBATIM_TEXT_STOP_MATCHER_H_
