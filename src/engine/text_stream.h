// TextStream: from one request's tokens to text that is safe to show. Not the tokenizer or the
// matcher (text/).
#ifndef VERBATIM_ENGINE_TEXT_STREAM_H_
#define VERBATIM_ENGINE_TEXT_STREAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/incremental_detokenizer.h"
#include "text/stop_matcher.h"
#include "text/tokenizer.h"

namespace verbatim {

class TextStream {
 public:
  // Errors: kInvalidArgument for an empty stop string.
  static Expected<TextStream> Create(std::shared_ptr<const Tokenizer> tokenizer,
                                     const std::vector<std::string>& stop);

  // Both return the text that became safe; nothing more once a stop string matched. An id without a
  // token has no text.
  // The view of Push is good until the next call. Without `may_stop`, stop strings are not looked
  // for in this token, nor across its border with the next.
  std::string_view Push(int32_t token_id, bool may_stop = true);
  std::string Finish();

  bool stopped() const { return stop_matcher_.matched().has_value(); }
  std::optional<std::string> matched_stop() const;

 private:
  TextStream(IncrementalDetokenizer detokenizer, StopMatcher matcher,
             std::vector<std::string> stop);

  IncrementalDetokenizer detokenizer_;
  StopMatcher stop_matcher_;
  std::vector<std::string> stop_;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_TEXT_STREAM_H_
