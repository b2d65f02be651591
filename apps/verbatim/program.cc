// RunProgram: from arguments to exit code, and the one place where errors are printed.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "apps/verbatim/help.h"
#include "apps/verbatim/man_page.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {
namespace {

Expected<int> RunVerb(const CommandLine& line, Terminal& terminal) {
  if (line.Given("help")) {
    VERBATIM_RETURN_IF_ERROR(terminal.Write(VerbHelp(line.verb().verb)));
    return kExitOk;
  }
  if (terminal.quiet() && terminal.verbose()) {
    return MakeError(StatusCode::kInvalidArgument, "--quiet", "no --verbose beside it", "both",
                     "one of them");
  }
  switch (line.verb().verb) {
    case Verb::kGenerate:
      return RunGenerate(line, terminal);
    case Verb::kChat:
      return RunChat(line, terminal);
    case Verb::kScore:
      return RunScore(line, terminal);
    case Verb::kQuantize:
      return RunQuantize(line, terminal);
    case Verb::kInspect:
      return RunInspect(line, terminal);
    case Verb::kDemo:
      return RunDemo(line, terminal);
    case Verb::kBench:
      return RunBench(line, terminal);
    case Verb::kParity:
      return RunParity(line, terminal);
    case Verb::kFlips:
      return RunFlips(line, terminal);
    case Verb::kReceipt:
      return RunReceipt(line, terminal);
    case Verb::kBenchServe:
      return RunBenchServe(line, terminal);
    case Verb::kServe:
      return RunServe(line, terminal);
    case Verb::kCompletion:
      return RunCompletion(line, terminal);
    case Verb::kVersion:
      return RunVersion(line, terminal);
    case Verb::kHelp:
      break;
  }
  return RunHelp(line, terminal);
}

// Inside, errors are values, but for memory: what no layer below has turned into one ends here.
Expected<int> RunVerbCatching(const CommandLine& line, Terminal& terminal) {
  try {
    return RunVerb(line, terminal);
  } catch (const std::bad_alloc&) {
    return MakeError(StatusCode::kResourceExhausted, line.verb().name, "memory for its work",
                     "too little");
  } catch (const std::exception& error) {  // e.g. std::system_error: no thread
    return MakeError(StatusCode::kInternal, line.verb().name, "to finish", error.what());
  }
}

int Report(const Status& status) {
  std::fputs(fmt::format("{}\n", status.message()).c_str(), stderr);
  return ExitCodeOf(status);
}

}  // namespace

int ExitCodeOf(const Status& status) {
  if (status.code() == StatusCode::kInvalidArgument) return kExitUsage;
  return status.code() == StatusCode::kDivergence ? kExitDivergence : kExitFailure;
}

Expected<int> RunHelp(const CommandLine& line, Terminal& terminal) {
  const bool markdown = line.Given("markdown");
  if (line.Given("man")) {
    if (markdown || line.Given("VERB")) {
      return MakeError(StatusCode::kInvalidArgument, "--man", "nothing beside it",
                       markdown ? "--markdown" : line.Text("VERB"), "verbatim help --man");
    }
    VERBATIM_RETURN_IF_ERROR(terminal.Write(ManPage(BuildDate())));
    return kExitOk;
  }
  if (!line.Given("VERB")) {
    VERBATIM_RETURN_IF_ERROR(terminal.Write(markdown ? MarkdownManual() : ProgramHelp()));
    return kExitOk;
  }
  const VerbSpec* verb = FindVerb(line.Text("VERB"));
  if (verb == nullptr) {
    return MakeError(StatusCode::kInvalidArgument, "VERB", "a verb", line.Text("VERB"),
                     "verbatim help");
  }
  VERBATIM_RETURN_IF_ERROR(
      terminal.Write(markdown ? MarkdownTable(verb->verb) : VerbHelp(verb->verb)));
  return kExitOk;
}

int RunProgram(const std::vector<std::string>& arguments) {
  InstallSignalHandlers();
  const Expected<CommandLine> line = ParseCommandLine(arguments);
  if (!line.ok()) return Report(line.status());
  Terminal terminal(*line);
  const Expected<int> exit_code = RunVerbCatching(*line, terminal);
  terminal.EndProgress();
  return exit_code.ok() ? *exit_code : Report(exit_code.status());
}

}  // namespace verbatim::cli
