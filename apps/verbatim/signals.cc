// Signal handlers. They only write lock-free atomics or leave the process.
#include "apps/verbatim/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace verbatim::cli {
namespace {

std::atomic<bool> deferring{false};
std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

int ExitCodeFor(int signal) { return signal == 0 ? 0 : 128 + signal; }

extern "C" void OnSignal(int signal) {
  int none = 0;
  if (deferring.load() && noted.compare_exchange_strong(none, signal)) return;
  _exit(128 + signal);  // what shells report for a process that a signal ended
}

void Handle(int signal) {
  struct sigaction current = {};
  sigaction(signal, nullptr, &current);
  if (signal == SIGINT && current.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;  // a noted signal must not look like a failed write
  sigaction(signal, &action, nullptr);
}

}  // namespace

void InstallSignalHandlers() {
  Handle(SIGINT);
  Handle(SIGTERM);
  signal(SIGPIPE, SIG_DFL);  // a parent may have passed on SIG_IGN
  signal(SIGXFSZ, SIG_IGN);
}

DeferredSignals::DeferredSignals() {
  noted = 0;
  deferring = true;
}

DeferredSignals::~DeferredSignals() { deferring = false; }

int DeferredSignals::exit_code() const { return ExitCodeFor(noted.load()); }

int DeferredSignals::Take() { return ExitCodeFor(noted.exchange(0)); }

}  // namespace verbatim::cli
