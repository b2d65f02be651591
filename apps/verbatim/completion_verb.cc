// The verb completion: prints the script for a shell. Not the scripts themselves.
#include "apps/verbatim/completion.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {

Expected<int> RunCompletion(const CommandLine& line, Terminal& terminal) {
  const std::string& shell = line.Text("SHELL");
  VERBATIM_RETURN_IF_ERROR(terminal.Write(shell == "bash"  ? BashCompletion()
                                          : shell == "zsh" ? ZshCompletion()
                                                           : FishCompletion()));
  return kExitOk;
}

}  // namespace verbatim::cli
