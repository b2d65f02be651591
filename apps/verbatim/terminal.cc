// The two streams of the program. Standard output is written unbuffered: a token is shown when it
// is known.
#include "apps/verbatim/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace verbatim::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string Colored(bool color, Style style, std::string_view text) {
  if (!color || style == Style::kPlain) return std::string(text);
  const char* code = style == Style::kBold   ? "1"
                     : style == Style::kDim  ? "2"
                     : style == Style::kGood ? "1;32"
                                             : "1;31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

// Whether the verb has the option and it was given.
bool Has(const CommandLine& line, std::string_view name) {
  for (const OptionSpec* option : OptionsOf(line.verb().verb)) {
    if (option->name == name) return line.Given(name);
  }
  return false;
}

}  // namespace

bool UseColor(std::string_view choice, bool is_terminal,
              const std::function<std::string(const char*)>& environment) {
  if (choice == "always") return true;
  if (choice == "never") return false;
  if (!environment("NO_COLOR").empty()) return false;
  for (const char* name : {"CLICOLOR_FORCE", "FORCE_COLOR"}) {
    const std::string value = environment(name);
    if (!value.empty() && value != "0") return true;
  }
  return is_terminal && environment("TERM") != "dumb";
}

Terminal::Terminal(const CommandLine& line)
    : quiet_(Has(line, "quiet")), verbose_(Has(line, "verbose")) {
  const std::string choice = Has(line, "color") ? line.Text("color") : "auto";
  output_color_ = UseColor(choice, isatty(STDOUT_FILENO) == 1, Environment);
  error_color_ = UseColor(choice, isatty(STDERR_FILENO) == 1, Environment);
  show_progress_ = !quiet_ && isatty(STDERR_FILENO) == 1 && Environment("TERM") != "dumb";
}

Status Terminal::Write(std::string_view text) {
  EndProgress();
  if (WriteAll(STDOUT_FILENO, text)) return Status();
  return MakeError(StatusCode::kIo, "standard output", "to write", std::strerror(errno));
}

void Terminal::Warn(std::string_view text) {
  EndProgress();
  WriteAll(STDERR_FILENO, fmt::format("{}\n", text));
}

void Terminal::Note(std::string_view text) {
  if (quiet_) return;
  EndProgress();
  WriteAll(STDERR_FILENO, fmt::format("{}\n", text));
}

void Terminal::Progress(double fraction, std::string_view what) {
  if (!show_progress_) return;
  const int percent = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100);
  if (percent == shown_percent_ && what == shown_what_) return;
  shown_percent_ = percent;
  shown_what_ = what;
  constexpr int kCells = 24;  // with the text it stays below 80 columns
  const int full = percent * kCells / 100;
  WriteAll(STDERR_FILENO,
           fmt::format("\r\x1b[K[{}{}] {:3}% {}", std::string(full, '#'),
                       std::string(kCells - full, '.'), percent, what.substr(0, 40)));
}

void Terminal::EndProgress() {
  if (shown_percent_ < 0) return;
  shown_percent_ = -1;
  WriteAll(STDERR_FILENO, "\r\x1b[K");
}

std::string Terminal::OnOutput(Style style, std::string_view text) const {
  return Colored(output_color_, style, text);
}

std::string Terminal::OnError(Style style, std::string_view text) const {
  return Colored(error_color_, style, text);
}

}  // namespace verbatim::cli
