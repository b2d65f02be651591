// SignalKeys: the keys of which a terminal makes signals, for a program that has told it not to.
// Not what the signals do (signals.h).
#ifndef VERBATIM_APPS_SIGNAL_KEYS_H_
#define VERBATIM_APPS_SIGNAL_KEYS_H_

#include <array>
#include <utility>

namespace verbatim::cli {

class SignalKeys {
 public:
  SignalKeys() = default;  // none
  // Those of the terminal at standard input as it is set now.
  static SignalKeys OfTerminal();

  // SIGINT, SIGTSTP or SIGQUIT; 0 for what is no such key.
  int SignalOf(char byte) const;

 private:
  std::array<std::pair<unsigned char, int>, 3> keys_ = {};  // signal 0: none
};

// As a terminal does it: to the whole job. If this process has blocked it, it arrives now.
void SendToJob(int signal);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_SIGNAL_KEYS_H_
