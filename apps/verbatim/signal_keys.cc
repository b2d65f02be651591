// The characters are in the terminal's settings.
#include "apps/verbatim/signal_keys.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

namespace verbatim::cli {

SignalKeys SignalKeys::OfTerminal() {
  SignalKeys result;
  struct termios settings = {};
  if (tcgetattr(STDIN_FILENO, &settings) != 0 || (settings.c_lflag & ISIG) == 0) return result;
  result.keys_ = {{{settings.c_cc[VINTR], SIGINT},
                   {settings.c_cc[VSUSP], SIGTSTP},
                   {settings.c_cc[VQUIT], SIGQUIT}}};
  return result;
}

int SignalKeys::SignalOf(char byte) const {
  for (const auto& [key, signal] : keys_) {
    if (key != _POSIX_VDISABLE && key == static_cast<unsigned char>(byte)) return signal;
  }
  return 0;
}

void SendToJob(int signal) {
  kill(0, signal);
  sigset_t none;
  sigemptyset(&none);
  const struct timespec now = {};
  ppoll(nullptr, 0, &now, &none);
}

}  // namespace verbatim::cli
