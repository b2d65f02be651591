// IncrementalDetokenizer: token bytes through a Utf8Stream. Not a copy of the decoding rules, which
// are the tokenizer's.
#include "text/incremental_detokenizer.h"

#include <utility>

namespace verbatim {

IncrementalDetokenizer::IncrementalDetokenizer(std::shared_ptr<const Tokenizer> tokenizer,
                                               bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

Expected<std::string_view> IncrementalDetokenizer::Append(int32_t id) {
  return Append(std::span(&id, 1));
}

Expected<std::string_view> IncrementalDetokenizer::Append(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    if (!tokenizer_->HasToken(id)) return tokenizer_->TokenBytes(id).status();
  }
  piece_.clear();
  for (const int32_t id : ids) {
    if (skip_special_ && tokenizer_->IsSpecial(id)) continue;
    stream_.Append(*tokenizer_->TokenBytes(id), piece_);
  }
  return std::string_view(piece_);
}

std::string_view IncrementalDetokenizer::Finish() {
  piece_.clear();
  stream_.Finish(piece_);
  return piece_;
}

}  // namespace verbatim
