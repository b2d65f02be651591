// The verb chat: a conversation at the terminal, or over a pipe. Not its loop (chat_loop.cc).
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "apps/verbatim/chat_history.h"
#include "apps/verbatim/chat_loop.h"
#include "apps/verbatim/line_editor.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/sampling_options.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Typed lines, and the file that remembers them.
class TypedInput {
 public:
  TypedInput(FILE* output, bool color, Terminal& terminal, DeferredSignals& signals)
      : terminal_(terminal), editor_(output, color, signals), history_(HistoryPath(Environment)) {
    const auto lines = history_.Load();
    if (!lines.ok()) {
      Complain(lines.status());
      return;
    }
    for (const std::string& line : *lines) editor_.AddHistory(line);
  }

  LineEditor& editor() { return editor_; }
  void Remember(const std::string& line) {
    editor_.AddHistory(line);
    if (Status status = history_.Append(line); !status.ok()) Complain(status);
  }

 private:
  // Once: a history that is not kept is no reason to interrupt a conversation again and again.
  void Complain(const Status& status) {
    if (!complained_) terminal_.Note(status.message());
    complained_ = true;
  }

  Terminal& terminal_;
  LineEditor editor_;
  ChatHistory history_;
  bool complained_ = false;
};

}  // namespace

Expected<int> RunChat(const CommandLine& line, Terminal& terminal) {
  VERBATIM_ASSIGN_OR_RETURN(EngineOptions options, ReadEngineOptions(line));
  VERBATIM_ASSIGN_OR_RETURN(const SamplingArguments sampling, SamplingArguments::Read(line));
  ChatSettings settings;
  settings.model = line.Text("model");
  settings.max_tokens = line.Number("max-tokens");
  settings.stop = line.Texts("stop");
  settings.may_speculate = options.contract != ContractMode::kOff;
  VERBATIM_ASSIGN_OR_RETURN(settings.speculation, ReadSpeculation(line));
  options.with_mtp = settings.speculation.kind == SpeculationKind::kMtp;
  options.mtp_if_present = settings.may_speculate;  // for /spec mtp
  options.max_conversations = 1;

  VERBATIM_ASSIGN_OR_RETURN(const auto engine, LoadEngine(options, terminal));
  // A model without a template, or one that can't do what chat does, says so before a word is said.
  VERBATIM_RETURN_IF_ERROR(
      engine->ApplyChatTemplate(ChatSession().TemplateMessages("Hello")).status());
  settings.sampling = sampling.Resolve(engine->info());
  terminal.Note(terminal.OnError(
      Style::kDim, "sampling: " + SamplingSummary(settings.sampling, engine->info())));

  const bool output_is_terminal = isatty(STDOUT_FILENO) == 1;
  const bool error_is_terminal = isatty(STDERR_FILENO) == 1;
  settings.interactive = isatty(STDIN_FILENO) == 1 && (output_is_terminal || error_is_terminal);
  const ChatDisplay display(terminal, output_is_terminal, terminal.output_color());
  const auto run = [&](LineSource& lines, DeferredSignals* signals,
                       const std::function<void(const std::string&)>& remember) {
    ChatLoop loop(*engine, terminal, lines, display, settings, remember, signals);
    if (line.Given("system")) loop.SetSystem(line.Text("system"));
    return loop.Run();
  };
  if (!settings.interactive) {
    PipeLines lines;
    return run(lines, nullptr, [](const std::string&) {});
  }
  terminal.Note(terminal.OnError(Style::kDim, "/help lists the commands, Ctrl-D ends"));
  DeferredSignals signals;  // one for all lines and answers: no gap in which one gets lost
  TypedInput input(output_is_terminal ? stdout : stderr,
                   output_is_terminal ? terminal.output_color() : terminal.error_color(), terminal,
                   signals);
  return run(input.editor(), &signals, [&](const std::string& typed) { input.Remember(typed); });
}

}  // namespace verbatim::cli
