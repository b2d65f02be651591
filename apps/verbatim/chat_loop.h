// ChatLoop: messages in, answers out, commands done, until the input ends. Not loading, and not how
// lines are read.
#ifndef VERBATIM_APPS_CHAT_LOOP_H_
#define VERBATIM_APPS_CHAT_LOOP_H_

#include <functional>
#include <string>
#include <vector>

#include "apps/verbatim/chat_commands.h"
#include "apps/verbatim/chat_display.h"
#include "apps/verbatim/chat_input.h"
#include "apps/verbatim/chat_session.h"
#include "apps/verbatim/chat_stats.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/terminal.h"
#include "verbatim/engine.h"

namespace verbatim::cli {

struct ChatSettings {
  std::string model;       // as given on the command line, for saved files
  int64_t max_tokens = 0;  // of one answer; 0: what the context leaves
  std::vector<std::string> stop = {};
  SpeculationOptions speculation = {};
  SamplingOptions sampling = {};
  bool may_speculate = true;  // the contract allows it
  bool interactive = false;
};

class ChatLoop {
 public:
  // The engine has room for one conversation. `remember` receives every line that was typed.
  // `signals`: those that `lines` heeds while it reads; null: a signal ends the process meanwhile.
  ChatLoop(Engine& engine, Terminal& terminal, LineSource& lines, const ChatDisplay& display,
           ChatSettings settings, std::function<void(const std::string&)> remember,
           DeferredSignals* signals);

  void SetSystem(const std::string& text) { session_.set_system(text); }

  // Runs to the end of the input. The exit code: 0; 1 if something failed and nobody was there to
  // see it; 130 and 143 for signals. Errors: standard output can't be written.
  Expected<int> Run();

 private:
  enum class Next { kGoOn, kEnd };

  Expected<Next> Handle(const std::string& message);
  Next HandleCommand(const ChatCommand& command);
  Status Save(const std::string& path);
  Status Load(const std::string& path);
  Status ChangeSpeculation(const std::string& argument);
  Status Answer(const std::string& message);
  Expected<Result> RunTurn(Request request, bool thinking, ChatAnswer* answer);
  // Leading tokens of `prompt` that the next turn's prompt will have as well, whatever is answered.
  int64_t StablePrefix(const std::string& message, const std::vector<int32_t>& prompt) const;
  void ForgetState();
  void Say(std::string_view text);  // on standard error, also if quiet: it was asked for
  void Fail(const Status& status);

  Engine& engine_;
  Terminal& terminal_;
  LineSource& lines_;
  ChatDisplay display_;
  ChatSettings settings_;
  std::function<void(const std::string&)> remember_;
  ChatSession session_;
  ChatStats stats_;
  MessageAssembler assembler_;
  ConversationId conversation_ = kNoConversation;
  DeferredSignals* signals_;  // of a pipe: null before the first message
  int interrupts_ = 0;        // Ctrl-C in a row, without a message between them
  int exit_code_ = 0;         // not 0: a signal asks to end
  bool failed_ = false;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CHAT_LOOP_H_
