// A string is complete inside the next token, or across the border in front of it.
#include "text/banned_strings.h"

#include <fmt/format.h>

#include <algorithm>

namespace verbatim {

Status BannedStrings::Check(std::span<const std::string> strings) {
  if (strings.size() > kMaxStrings) {
    return MakeError(StatusCode::kInvalidArgument, "banned strings",
                     fmt::format("at most {}", kMaxStrings), fmt::format("{}", strings.size()));
  }
  for (const std::string& text : strings) {
    if (!text.empty() && text.size() <= kMaxBytes) continue;
    return MakeError(StatusCode::kInvalidArgument, "banned string",
                     fmt::format("1 to {} bytes", kMaxBytes), fmt::format("{}", text.size()));
  }
  return {};
}

BannedStrings::BannedStrings(std::shared_ptr<const Tokenizer> tokenizer,
                             std::vector<std::string> strings)
    : tokenizer_(std::move(tokenizer)) {
  size_t most_ids = 0;
  for (std::string& text : strings) {
    Entry entry = {.text = std::move(text), .completing = {}};
    entry.completing.resize(entry.text.size());
    for (int32_t id = 0; id < tokenizer_->vocab_size(); ++id) {
      if (!tokenizer_->HasToken(id) || tokenizer_->IsSpecial(id)) continue;
      const std::string_view bytes = *tokenizer_->TokenBytes(id);
      if (bytes.find(entry.text) != std::string_view::npos) entry.completing[0].push_back(id);
      for (size_t begun = 1; begun < entry.text.size(); ++begun) {
        if (bytes.starts_with(std::string_view(entry.text).substr(begun))) {
          entry.completing[begun].push_back(id);
        }
      }
    }
    for (const auto& list : entry.completing) most_ids += list.size();
    longest_ = std::max(longest_, entry.text.size());
    entries_.push_back(std::move(entry));
  }
  size_t longest_token = 0;
  for (int32_t id = 0; id < tokenizer_->vocab_size(); ++id) {
    if (tokenizer_->HasToken(id)) {
      longest_token = std::max(longest_token, tokenizer_->TokenBytes(id)->size());
    }
  }
  tail_.reserve(longest_ + longest_token);
  ids_.reserve(most_ids);
  FindIds();
}

void BannedStrings::Push(int32_t id) {
  if (!tokenizer_->HasToken(id) || tokenizer_->IsSpecial(id)) return;
  tail_ += *tokenizer_->TokenBytes(id);
  // A whole string is never in the output, so that its last byte need not be looked at.
  if (tail_.size() >= longest_) tail_.erase(0, tail_.size() - (longest_ - 1));
  FindIds();
}

void BannedStrings::FindIds() {
  ids_.clear();
  for (const Entry& entry : entries_) {
    for (size_t begun = 0; begun < entry.completing.size(); ++begun) {
      if (!tail_.ends_with(std::string_view(entry.text).substr(0, begun))) continue;
      ids_.insert(ids_.end(), entry.completing[begun].begin(), entry.completing[begun].end());
    }
  }
}

}  // namespace verbatim
