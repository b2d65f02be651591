// A string is complete inside the next token, or across the border in front of it.
#include "text/banned_strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

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

struct BannedStrings::Table {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<std::string> strings;
  // [string][b]: tokens that complete it when its first b bytes are the output's last ones.
  std::vector<std::vector<std::vector<int32_t>>> completing;
  size_t longest_string = 0, longest_token = 0;
  size_t most_ids = 0;
};

std::shared_ptr<const BannedStrings::Table> BannedStrings::Compile(
    std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> strings) {
  auto table = std::make_shared<Table>();
  table->completing.resize(strings.size());
  // By the byte that a token begins with: where in which string that byte stands.
  struct Place {
    uint32_t string, begun;
  };
  std::array<std::vector<Place>, 256> places;
  for (uint32_t i = 0; i < strings.size(); ++i) {
    const std::string& text = strings[i];
    table->completing[i].resize(text.size());
    table->longest_string = std::max(table->longest_string, text.size());
    for (uint32_t begun = 1; begun < text.size(); ++begun) {
      places[static_cast<unsigned char>(text[begun])].push_back({i, begun});
    }
  }
  for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
    if (!tokenizer->HasToken(id)) continue;
    const std::string_view bytes = *tokenizer->TokenBytes(id);
    table->longest_token = std::max(table->longest_token, bytes.size());
    if (tokenizer->IsSpecial(id) || bytes.empty()) continue;
    for (size_t i = 0; i < strings.size(); ++i) {
      if (bytes.find(strings[i]) != bytes.npos) table->completing[i][0].push_back(id);
    }
    for (const auto [string, begun] : places[static_cast<unsigned char>(bytes[0])]) {
      if (bytes.starts_with(std::string_view(strings[string]).substr(begun))) {
        table->completing[string][begun].push_back(id);
      }
    }
  }
  for (const auto& lists : table->completing) {
    for (const auto& list : lists) table->most_ids += list.size();
  }
  table->strings = std::move(strings);
  table->tokenizer = std::move(tokenizer);
  return table;
}

const std::vector<std::string>& BannedStrings::StringsOf(const Table& table) {
  return table.strings;
}

BannedStrings::BannedStrings(std::shared_ptr<const Table> table) : table_(std::move(table)) {
  tail_.reserve(table_->longest_string + table_->longest_token);
  ids_.reserve(table_->most_ids);
  FindIds();
}

void BannedStrings::Push(int32_t id) {
  const Tokenizer& tokenizer = *table_->tokenizer;
  if (!tokenizer.HasToken(id) || tokenizer.IsSpecial(id)) return;
  tail_ += *tokenizer.TokenBytes(id);
  // A whole string is never in the output, so that its last byte need not be looked at.
  const size_t longest = table_->longest_string;
  if (tail_.size() >= longest) tail_.erase(0, tail_.size() - (longest - 1));
  FindIds();
}

void BannedStrings::FindIds() {
  ids_.clear();
  for (size_t i = 0; i < table_->strings.size(); ++i) {
    const auto& completing = table_->completing[i];
    for (size_t begun = 0; begun < completing.size(); ++begun) {
      if (completing[begun].empty()) continue;
      if (!tail_.ends_with(std::string_view(table_->strings[i]).substr(0, begun))) continue;
      ids_.insert(ids_.end(), completing[begun].begin(), completing[begun].end());
    }
  }
}

}  // namespace verbatim
