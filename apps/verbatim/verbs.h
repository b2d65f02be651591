// The verbs of the program: each takes its checked options and returns an exit code. Not the
// options themselves.
#ifndef VERBATIM_APPS_VERBS_H_
#define VERBATIM_APPS_VERBS_H_

#include "apps/verbatim/command_line.h"
#include "apps/verbatim/terminal.h"
#include "verbatim/status.h"

namespace verbatim::cli {

// users_expect.md 2.5; 130 and 143 come from signals.h.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitDivergence = 3;

// kInvalidArgument is the caller's doing, all else the world's.
int ExitCodeOf(const Status& status);

Expected<int> RunGenerate(const CommandLine& line, Terminal& terminal);
Expected<int> RunChat(const CommandLine& line, Terminal& terminal);
Expected<int> RunScore(const CommandLine& line, Terminal& terminal);
Expected<int> RunQuantize(const CommandLine& line, Terminal& terminal);
Expected<int> RunInspect(const CommandLine& line, Terminal& terminal);
Expected<int> RunDemo(const CommandLine& line, Terminal& terminal);
Expected<int> RunBench(const CommandLine& line, Terminal& terminal);
Expected<int> RunParity(const CommandLine& line, Terminal& terminal);
Expected<int> RunFlips(const CommandLine& line, Terminal& terminal);
Expected<int> RunReceipt(const CommandLine& line, Terminal& terminal);
Expected<int> RunServe(const CommandLine& line, Terminal& terminal);
Expected<int> RunBenchServe(const CommandLine& line, Terminal& terminal);
Expected<int> RunCompletion(const CommandLine& line, Terminal& terminal);
Expected<int> RunVersion(const CommandLine& line, Terminal& terminal);
Expected<int> RunHelp(const CommandLine& line, Terminal& terminal);

std::string_view BuildDate();  // of the commit, YYYY-MM-DD; without git the day of the build

// Parses, runs, reports. The whole program but the process: prints errors, returns the exit code.
int RunProgram(const std::vector<std::string>& arguments);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_VERBS_H_
