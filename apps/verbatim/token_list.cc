// A small state machine over separators and numbers, so that every error knows its line.
#include "apps/verbatim/token_list.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "apps/verbatim/option_value.h"

namespace verbatim::cli {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Reader {
 public:
  Reader(std::string_view text, std::string_view where, bool show_line)
      : text_(text), where_(where), show_line_(show_line) {}

  Expected<std::vector<int32_t>> Read() {
    SkipSpace();
    const bool array = Take('[');
    std::vector<int32_t> ids;
    for (bool comma = false;;) {
      SkipSpace();
      const bool end = at_ == text_.size() || (array && text_[at_] == ']');
      if (end && comma) return Fault("a token id after the comma", End());
      if (end) break;
      if (array && !ids.empty() && !comma) return Fault("a comma or ]", Word());
      VERBATIM_ASSIGN_OR_RETURN(const int32_t id, Id());
      ids.push_back(id);
      SkipSpace();
      comma = Take(',');
    }
    if (array && !Take(']')) return Fault("] at the end of the array", End());
    SkipSpace();
    if (at_ != text_.size()) return Fault("nothing after the array", Word());
    if (ids.empty()) return Fault("at least one token id", "none");
    return ids;
  }

 private:
  void SkipSpace() {
    for (; at_ < text_.size() && IsSpace(text_[at_]); ++at_) line_ += text_[at_] == '\n';
  }
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string End() const { return at_ == text_.size() ? "the end" : std::string(1, text_[at_]); }

  // What stands here up to the next separator, printable and short.
  std::string Word() const {
    constexpr size_t kMost = 24;  // enough to find it in a file
    std::string word;
    for (size_t i = at_; i < text_.size() && word.size() < kMost; ++i) {
      const char c = text_[i];
      if (IsSpace(c) || (!word.empty() && (c == ',' || c == ']'))) break;
      word += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return word.empty() ? "the end" : word;
  }

  Expected<int32_t> Id() {
    size_t end = at_;
    while (end < text_.size() && !IsSpace(text_[end]) && text_[end] != ',' && text_[end] != ']') {
      ++end;
    }
    int64_t value = 0;
    constexpr int64_t kLast = std::numeric_limits<int32_t>::max();
    if (!ParseInteger(text_.substr(at_, end - at_), &value) || value < 0 || value > kLast) {
      return Fault(fmt::format("a token id from 0 to {}", kLast), Word());
    }
    at_ = end;
    return static_cast<int32_t>(value);
  }

  Status Fault(std::string_view expected, std::string_view received) const {
    return MakeError(StatusCode::kInvalidArgument,
                     show_line_ ? fmt::format("{}:{}", where_, line_) : std::string(where_),
                     expected, received, "numbers separated by commas, as in 1,2,3");
  }

  std::string_view text_;
  std::string_view where_;
  bool show_line_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

Expected<std::vector<int32_t>> ParseTokenIds(std::string_view text, std::string_view where,
                                             bool show_line) {
  return Reader(text, where, show_line).Read();
}

}  // namespace verbatim::cli
