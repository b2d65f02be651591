// Terminal: what goes to standard output and standard error, in which colour, and progress bars.
// Not what is said.
#ifndef VERBATIM_APPS_TERMINAL_H_
#define VERBATIM_APPS_TERMINAL_H_

#include <functional>
#include <string>
#include <string_view>

#include "apps/verbatim/command_line.h"
#include "verbatim/status.h"

namespace verbatim::cli {

// users_expect.md 2.5: --color > NO_COLOR > CLICOLOR_FORCE, FORCE_COLOR > terminal and TERM not
// dumb. `choice` is auto, always or never; `environment` returns "" for what is not set.
bool UseColor(std::string_view choice, bool is_terminal,
              const std::function<std::string(const char*)>& environment);

enum class Style { kPlain, kBold, kDim, kGood, kBad };

class Terminal {
 public:
  explicit Terminal(const CommandLine& line);

  bool quiet() const { return quiet_; }
  bool verbose() const { return verbose_; }
  bool output_color() const { return output_color_; }
  bool error_color() const { return error_color_; }

  // Writes all bytes to standard output now. kIo, e.g. a full disk.
  Status Write(std::string_view text);
  // A line on standard error unless quiet.
  void Note(std::string_view text);
  // The same even if quiet: something is not as it was asked for.
  void Warn(std::string_view text);
  // A bar on standard error if that is a terminal and not quiet. It disappears before other lines.
  void Progress(double fraction, std::string_view what);
  void EndProgress();

  // `text` in colour if standard output (error) wants it.
  std::string OnOutput(Style style, std::string_view text) const;
  std::string OnError(Style style, std::string_view text) const;

 private:
  bool quiet_ = false;
  bool verbose_ = false;
  bool output_color_ = false;
  bool error_color_ = false;
  bool show_progress_ = false;
  int shown_percent_ = -1;  // -1: no bar on the screen
  std::string shown_what_;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_TERMINAL_H_
