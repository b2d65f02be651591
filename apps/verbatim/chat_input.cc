// Lines from a pipe, messages from lines.
#include "apps/verbatim/chat_input.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace verbatim::cli {
namespace {

constexpr std::string_view kQuotes = R"(""")";

}  // namespace

ReadLine PipeLines::Read(bool /*continued*/) {
  for (;;) {
    const size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos || (at_end_ && !buffer_.empty())) {
      std::string text = buffer_.substr(0, end);
      buffer_.erase(0, end == std::string::npos ? end : end + 1);
      searched_ = 0;
      if (text.ends_with('\r')) text.pop_back();
      return {ReadLine::Kind::kLine, std::move(text)};
    }
    if (at_end_) return {ReadLine::Kind::kEnd};
    searched_ = buffer_.size();
    std::array<char, 1 << 16> part;  // the usual size of a pipe
    const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      at_end_ = true;  // an unreadable input has no more lines than an empty one
    } else {
      buffer_.append(part.data(), static_cast<size_t>(count));
    }
  }
}

std::optional<std::string> MessageAssembler::Add(std::string_view line) {
  const bool pasted = line.find('\n') != std::string_view::npos;
  if (!pending() && !pasted && line.starts_with(kQuotes)) {
    in_block_ = true;
    line.remove_prefix(kQuotes.size());
    if (line.empty()) return std::nullopt;
  }
  if (in_block_) {
    const std::string_view trimmed = line.substr(0, line.find_last_not_of(" \t") + 1);
    if (trimmed.ends_with(kQuotes)) {
      text_ += trimmed.substr(0, trimmed.size() - kQuotes.size());
      // The line break before closing quotes on a line of their own is not the message's.
      if (text_.ends_with('\n')) text_.pop_back();
      in_block_ = false;
      return std::exchange(text_, {});
    }
    text_ += line;
    text_ += '\n';
    return std::nullopt;
  }
  continued_ = !pasted && line.ends_with('\\');
  if (continued_) line.remove_suffix(1);
  text_ += line;
  if (!continued_) return std::exchange(text_, {});
  text_ += '\n';
  return std::nullopt;
}

std::optional<std::string> MessageAssembler::Finish() {
  const bool counts = continued_;
  std::string text = std::exchange(text_, {});
  Clear();
  if (!counts) return std::nullopt;
  text.pop_back();  // the line break that the backslash stood for
  return text;
}

void MessageAssembler::Clear() {
  text_.clear();
  in_block_ = continued_ = false;
}

}  // namespace verbatim::cli
