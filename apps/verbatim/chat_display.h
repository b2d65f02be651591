// ThinkingSplitter and ChatDisplay: an answer's thinking told from its content, and both shown. Not
// the conversation's record.
#ifndef VERBATIM_APPS_CHAT_DISPLAY_H_
#define VERBATIM_APPS_CHAT_DISPLAY_H_

#include <functional>
#include <string>
#include <string_view>

#include "apps/verbatim/terminal.h"
#include "verbatim/status.h"

namespace verbatim::cli {

// Splits streamed text at <think> and </think>. Thinking stands at the start of an answer or
// nowhere: tags further on are content. Line breaks around the tags belong to neither part.
class ThinkingSplitter {
 public:
  using Sink = std::function<Status(std::string_view part, bool thinking)>;

  // `open`: the prompt has opened the thinking already.
  explicit ThinkingSplitter(bool open) : state_(open ? State::kThinkingStart : State::kStart) {}

  // Whether a prompt ends in an open <think>.
  static bool EndsInThinking(std::string_view prompt);

  // Passes on what is certain; what may become a tag waits for the next call.
  Status Push(std::string_view text, const Sink& sink);
  Status Finish(const Sink& sink);  // passes on what waited

 private:
  enum class State {
    kStart,          // nothing but white space so far
    kThinkingStart,  // line breaks behind the opening tag
    kThinking,
    kContentStart,  // line breaks behind the closing tag
    kContent,
  };
  // One step; false: more text is needed.
  Expected<bool> Step(bool finish, const Sink& sink);

  State state_;
  std::string held_;
};

// Writes an answer to standard output. With colour the thinking is dim; without, it stands between
// its tags. On a terminal, control characters of the model are made visible, so that no answer can
// steer the terminal.
class ChatDisplay {
 public:
  ChatDisplay(Terminal& terminal, bool is_terminal, bool color)
      : terminal_(terminal), is_terminal_(is_terminal), color_(color) {}

  Status Show(std::string_view text, bool thinking);
  Status End();  // of an answer: closes an open line

 private:
  Status Write(std::string_view text, Style style);

  Terminal& terminal_;
  bool is_terminal_;
  bool color_;
  bool in_thinking_ = false;
  bool line_open_ = false;
};

// `text` with control characters but tab and line break shown as U+FFFD. UTF-8 in and out.
std::string WithoutControls(std::string_view text);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CHAT_DISPLAY_H_
