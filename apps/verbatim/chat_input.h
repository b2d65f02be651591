// LineSource and MessageAssembler: lines from a terminal or a pipe, and messages from lines. Not
// the editing of a line (line_editor.h).
#ifndef VERBATIM_APPS_CHAT_INPUT_H_
#define VERBATIM_APPS_CHAT_INPUT_H_

#include <optional>
#include <string>
#include <string_view>

namespace verbatim::cli {

struct ReadLine {
  enum class Kind {
    kLine,
    kEnd,          // of the input
    kInterrupted,  // Ctrl-C; the line is dropped
    kTerminated,   // SIGTERM
  };
  Kind kind = Kind::kEnd;
  std::string text = {};  // kLine: without the line break; those inside were pasted
};

class LineSource {
 public:
  virtual ~LineSource() = default;
  // `continued`: inside a message of several lines. Shows a prompt where one makes sense.
  virtual ReadLine Read(bool continued) = 0;
};

// Lines of standard input, unedited and without prompts. A signal ends the process while it waits.
class PipeLines : public LineSource {
 public:
  ReadLine Read(bool continued) override;

 private:
  std::string buffer_;
  size_t searched_ = 0;  // no line break before
  bool at_end_ = false;
};

// A message is a line, a line and what follows its trailing backslash, or what stands between
// lines with """ at their start and at their end. A line with line breaks inside, which only a
// paste has, is text as it is: neither """ at its start nor a backslash at its end mean anything.
class MessageAssembler {
 public:
  // The message that `line` completes, if it does.
  std::optional<std::string> Add(std::string_view line);
  // The input ends: a continued line counts as it is. An open block is dropped and has none.
  std::optional<std::string> Finish();
  bool pending() const { return in_block_ || continued_; }
  bool in_block() const { return in_block_; }
  void Clear();

 private:
  std::string text_;
  bool in_block_ = false;
  bool continued_ = false;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CHAT_INPUT_H_
