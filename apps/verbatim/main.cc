// The entry of the program `verbatim`: what the process needs before RunProgram (program.cc).
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "apps/verbatim/verbs.h"

namespace {

// A standard stream that the caller closed would become the next file that is opened, and what is
// meant for a person would go into it. Read-only, so that writing fails as before.
void ReserveStandardStreams() {
  int fd = ::open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDONLY);
  if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  ReserveStandardStreams();
  return verbatim::cli::RunProgram(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
