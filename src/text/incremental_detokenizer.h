// IncrementalDetokenizer: the text of a growing list of token ids, piece by piece. Not for stop
// strings (stop_matcher.h).
#ifndef VERBATIM_TEXT_INCREMENTAL_DETOKENIZER_H_
#define VERBATIM_TEXT_INCREMENTAL_DETOKENIZER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer.h"
#include "text/utf8.h"
#include "verbatim/status.h"

namespace verbatim {

// The pieces joined, the one of Finish included, equal Tokenizer::Decode of all ids; a piece never
// ends within a character, and nothing returned is ever taken back.
class IncrementalDetokenizer {
 public:
  // `skip_special` leaves out tokens with special=true.
  explicit IncrementalDetokenizer(std::shared_ptr<const Tokenizer> tokenizer,
                                  bool skip_special = true);

  // The text that became certain with this token, maybe empty. The view is good until the next
  // call. Errors: kInvalidArgument for an id without a token; the state stays as it was.
  Expected<std::string_view> Append(int32_t id);

  // The same for several tokens at once, e.g. the accepted ones of a block.
  Expected<std::string_view> Append(std::span<const int32_t> ids);

  // Ends the text: what was held back, as U+FFFD. Afterwards a new text may start.
  std::string_view Finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  Utf8Stream stream_;
  std::string piece_;
};

}  // namespace verbatim

#endif  // VERBATIM_TEXT_INCREMENTAL_DETOKENIZER_H_
