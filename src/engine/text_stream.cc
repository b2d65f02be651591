// Detokenizer, then stop matcher.
#include "engine/text_stream.h"

#include <utility>

namespace verbatim {

TextStream::TextStream(IncrementalDetokenizer detokenizer, StopMatcher matcher,
                       std::vector<std::string> stop)
    : detokenizer_(std::move(detokenizer)),
      stop_matcher_(std::move(matcher)),
      stop_(std::move(stop)) {}

Expected<TextStream> TextStream::Create(std::shared_ptr<const Tokenizer> tokenizer,
                                        const std::vector<std::string>& stop) {
  VERBATIM_ASSIGN_OR_RETURN(StopMatcher matcher, StopMatcher::Create(stop));
  return TextStream(IncrementalDetokenizer(std::move(tokenizer)), std::move(matcher), stop);
}

std::string_view TextStream::Push(int32_t token_id, bool may_stop) {
  const auto piece = detokenizer_.Append(token_id);
  if (!piece.ok()) return {};
  return may_stop ? stop_matcher_.Append(*piece).text : *piece;
}

std::string TextStream::Finish() {
  std::string text(stop_matcher_.Append(detokenizer_.Finish()).text);
  text += stop_matcher_.Finish().text;
  return text;
}

std::optional<std::string> TextStream::matched_stop() const {
  const auto index = stop_matcher_.matched();
  return index ? std::optional(stop_[*index]) : std::nullopt;
}

}  // namespace verbatim
