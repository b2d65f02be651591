// SIGINT and SIGTERM as exit codes 130 and 143, with one chance to end a generation in order. Not
// other signals.
#ifndef VERBATIM_APPS_SIGNALS_H_
#define VERBATIM_APPS_SIGNALS_H_

namespace verbatim::cli {

// From here on both signals end the process with 128 + number, and SIGPIPE ends it quietly. A
// SIGINT that the parent process ignores (nohup, a background job) stays ignored. SIGXFSZ is
// ignored: a file that grows past `ulimit -f` is an error of the write, which cleans up.
void InstallSignalHandlers();

// While one exists, the first signal is only noted; the second ends the process. One at a time.
class DeferredSignals {
 public:
  DeferredSignals();
  ~DeferredSignals();
  DeferredSignals(const DeferredSignals&) = delete;
  DeferredSignals& operator=(const DeferredSignals&) = delete;

  // The exit code of the noted signal, 130 or 143; 0 for none.
  int exit_code() const;
  // The same, and forgets the signal: the next one is a first one again.
  int Take();
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_SIGNALS_H_
