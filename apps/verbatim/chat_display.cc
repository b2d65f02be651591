// A small state machine over streamed text, and its two looks.
#include "apps/verbatim/chat_display.h"

#include <algorithm>

namespace verbatim::cli {
namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kSpace = " \t\r\n";

// The length of the longest end of `text` that `tag` may go on from: a proper prefix of it.
size_t HeldBack(std::string_view text, std::string_view tag) {
  for (size_t length = std::min(text.size(), tag.size() - 1); length > 0; --length) {
    if (text.ends_with(tag.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

bool ThinkingSplitter::EndsInThinking(std::string_view prompt) {
  return prompt.substr(0, prompt.find_last_not_of(kSpace) + 1).ends_with(kOpen);
}

Status ThinkingSplitter::Push(std::string_view text, const Sink& sink) {
  held_ += text;
  for (;;) {
    VERBATIM_ASSIGN_OR_RETURN(const bool more, Step(/*finish=*/false, sink));
    if (!more) return {};
  }
}

Status ThinkingSplitter::Finish(const Sink& sink) {
  for (;;) {
    VERBATIM_ASSIGN_OR_RETURN(const bool more, Step(/*finish=*/true, sink));
    if (!more) return {};
  }
}

Expected<bool> ThinkingSplitter::Step(bool finish, const Sink& sink) {
  if (held_.empty()) return false;
  const auto pass_on = [&](size_t count, bool thinking) -> Status {
    if (count == 0) return {};
    const std::string part = held_.substr(0, count);
    held_.erase(0, count);
    return sink(part, thinking);
  };
  switch (state_) {
    case State::kStart: {
      const size_t begin = std::min(held_.find_first_not_of(kSpace), held_.size());
      const std::string_view rest = std::string_view(held_).substr(begin);
      if (!finish && rest.size() < kOpen.size() && kOpen.starts_with(rest)) return false;
      if (rest.starts_with(kOpen)) {
        held_.erase(0, begin + kOpen.size());
        state_ = State::kThinkingStart;
      } else {
        state_ = State::kContent;
      }
      return true;
    }
    case State::kThinkingStart:
    case State::kContentStart:
      held_.erase(0, std::min(held_.find_first_not_of("\r\n"), held_.size()));
      if (held_.empty()) return false;
      state_ = state_ == State::kThinkingStart ? State::kThinking : State::kContent;
      return true;
    case State::kThinking: {
      const size_t close = held_.find(kClose);
      // The line breaks before the tag may belong to it.
      const size_t before = close != std::string::npos ? close
                            : finish                   ? held_.size()
                                                       : held_.size() - HeldBack(held_, kClose);
      const size_t last = held_.find_last_not_of("\r\n", before == 0 ? 0 : before - 1);
      const bool blank = before == 0 || last == std::string::npos;
      VERBATIM_RETURN_IF_ERROR(pass_on(blank ? 0 : last + 1, true));
      if (close == std::string::npos) {
        if (finish) held_.clear();  // line breaks at the end of an interrupted thought
        return false;
      }
      held_.erase(0, held_.find(kClose) + kClose.size());
      state_ = State::kContentStart;
      return true;
    }
    case State::kContent:
      VERBATIM_RETURN_IF_ERROR(pass_on(held_.size(), false));
      return false;
  }
  return false;
}

Status ChatDisplay::Show(std::string_view text, bool thinking) {
  if (thinking && !in_thinking_ && !color_) {
    VERBATIM_RETURN_IF_ERROR(Write("<think>\n", Style::kPlain));
  }
  if (!thinking && in_thinking_) {
    VERBATIM_RETURN_IF_ERROR(Write(color_ ? "\n\n" : "\n</think>\n\n", Style::kPlain));
  }
  in_thinking_ = thinking;
  return Write(text, thinking ? Style::kDim : Style::kPlain);
}

Status ChatDisplay::End() {
  in_thinking_ = false;
  if (!line_open_) return {};
  return Write("\n", Style::kPlain);
}

Status ChatDisplay::Write(std::string_view text, Style style) {
  if (text.empty()) return {};
  line_open_ = !text.ends_with('\n');
  const std::string shown = is_terminal_ ? WithoutControls(text) : std::string(text);
  // Each piece switches its style off again, so that a second Ctrl-C leaves no dim terminal behind.
  return terminal_.Write(terminal_.OnOutput(style, shown));
}

std::string WithoutControls(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    // U+0080 to U+009F, which some terminals obey as well.
    const bool c1 =
        byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c0 || c1) {
      shown += "\xEF\xBF\xBD";
      i += c1 ? 1 : 0;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace verbatim::cli
