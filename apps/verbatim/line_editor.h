// LineEditor: lines typed at a terminal, with editing and history, through libedit. Not messages
// (chat_input.h).
#ifndef VERBATIM_APPS_LINE_EDITOR_H_
#define VERBATIM_APPS_LINE_EDITOR_H_

#include <memory>
#include <string>
#include <vector>

#include "apps/verbatim/chat_input.h"
#include "apps/verbatim/signals.h"

namespace verbatim::cli {

// Keys as in emacs mode of libedit, or as ~/.editrc says. Ctrl-C drops the line and is reported;
// the terminal's size may change and the program be stopped and continued while a line is typed.
// What is pasted (bracketed paste, on while a line is read) goes into the line as text: none of it
// is a key, and its line breaks stay inside the line. Those at the line's end are dropped.
// One at a time: it changes the process's signal handlers and character type locale.
class LineEditor : public LineSource {
 public:
  // Edits on standard input and shows on `output`, one of stdout and stderr. `color`: a bold
  // prompt.
  // Takes what is noted in `signals`, which outlives it.
  LineEditor(FILE* output, bool color, DeferredSignals& signals);
  ~LineEditor() override;

  ReadLine Read(bool continued) override;
  void AddHistory(const std::string& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_LINE_EDITOR_H_
