// The loop, the turn and the commands.
#include "apps/verbatim/chat_loop.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "apps/verbatim/generation.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "base/file_writer.h"
#include "base/mapped_file.h"

namespace verbatim::cli {
namespace {

constexpr int kExitInterrupted = 128 + SIGINT;
// A conversation of a million tokens is about 5 MB.
constexpr size_t kMaxSessionBytes = size_t{64} << 20;

}  // namespace

ChatLoop::ChatLoop(Engine& engine, Terminal& terminal, LineSource& lines,
                   const ChatDisplay& display, ChatSettings settings,
                   std::function<void(const std::string&)> remember, DeferredSignals* signals)
    : engine_(engine),
      terminal_(terminal),
      lines_(lines),
      display_(display),
      settings_(std::move(settings)),
      remember_(std::move(remember)),
      signals_(signals) {}

Expected<int> ChatLoop::Run() {
  while (exit_code_ == 0) {
    const ReadLine line = lines_.Read(assembler_.pending());
    if (line.kind == ReadLine::Kind::kTerminated) return 128 + SIGTERM;
    if (line.kind == ReadLine::Kind::kInterrupted) {
      if (++interrupts_ == 2) return kExitInterrupted;
      assembler_.Clear();
      terminal_.Note(terminal_.OnError(Style::kDim, "Ctrl-C again ends the program"));
      continue;
    }
    std::optional<DeferredSignals> of_message;
    if (!settings_.interactive) signals_ = &of_message.emplace();
    const bool at_end = line.kind == ReadLine::Kind::kEnd;
    if (at_end && assembler_.in_block()) {
      Fail(MakeError(StatusCode::kInvalidArgument, "message", R"(""" at its end)",
                     "the end of the input"));
    }
    if (!at_end && !line.text.empty()) remember_(line.text);
    const auto message = at_end ? assembler_.Finish() : assembler_.Add(line.text);
    if (message && message->find_first_not_of(" \t\n") != std::string::npos) {
      interrupts_ = 0;
      VERBATIM_ASSIGN_OR_RETURN(const Next next, Handle(*message));
      const int code = signals_->Take();
      if (code == kExitInterrupted && settings_.interactive) {
        interrupts_ = 1;
      } else {
        exit_code_ = code;
      }
      if (next == Next::kEnd) break;
    }
    if (at_end) break;
  }
  if (exit_code_ != 0) return exit_code_;
  return failed_ && !settings_.interactive ? kExitFailure : kExitOk;
}

Expected<ChatLoop::Next> ChatLoop::Handle(const std::string& message) {
  if (!message.starts_with('/')) {
    if (Status status = Answer(message); !status.ok()) {
      if (status.code() == StatusCode::kIo) return status;  // nowhere to write answers to
      Fail(status);
    }
    return Next::kGoOn;
  }
  const auto command = ParseChatCommand(message);
  if (command.ok()) return HandleCommand(*command);
  Fail(command.status());
  return Next::kGoOn;
}

ChatLoop::Next ChatLoop::HandleCommand(const ChatCommand& command) {
  Status status;
  switch (command.kind) {
    case ChatCommandKind::kExit:
      return Next::kEnd;
    case ChatCommandKind::kHelp:
      Say(ChatHelp());
      break;
    case ChatCommandKind::kReset:
      session_.Clear();
      stats_.Reset();
      ForgetState();
      Say("The conversation starts anew.\n");
      break;
    case ChatCommandKind::kSystem:
      if (!command.argument.empty()) session_.set_system(command.argument);
      Say(fmt::format("System message: {}\n",
                      session_.system().empty() ? "none" : session_.system()));
      break;
    case ChatCommandKind::kSave:
      status = Save(command.argument);
      break;
    case ChatCommandKind::kLoad:
      status = Load(command.argument);
      break;
    case ChatCommandKind::kStats:
      Say(stats_.Text(engine_.info().context, settings_.speculation));
      break;
    case ChatCommandKind::kSpec:
      status = ChangeSpeculation(command.argument);
      break;
  }
  if (!status.ok()) Fail(status);
  return Next::kGoOn;
}

Status ChatLoop::Save(const std::string& path) {
  VERBATIM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  VERBATIM_RETURN_IF_ERROR(writer.Write(session_.ToJson(settings_.model) + "\n"));
  VERBATIM_RETURN_IF_ERROR(writer.Commit());
  Say(fmt::format("Wrote {} turns to {}.\n", session_.turns().size(), path));
  return {};
}

Status ChatLoop::Load(const std::string& path) {
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxSessionBytes));
  std::string model;
  VERBATIM_ASSIGN_OR_RETURN(ChatSession loaded, ChatSession::FromJson(text, path, &model));
  session_ = std::move(loaded);
  stats_.Reset();
  ForgetState();
  Say(fmt::format("Read {} turns from {}{}.\n", session_.turns().size(), path,
                  model == settings_.model ? "" : fmt::format(", of another model, {}", model)));
  return {};
}

Status ChatLoop::ChangeSpeculation(const std::string& argument) {
  if (!argument.empty()) {
    VERBATIM_ASSIGN_OR_RETURN(SpeculationOptions wanted,
                              ParseSpecArgument(argument, settings_.speculation));
    if (wanted.kind == SpeculationKind::kMtp && !engine_.info().has_mtp) {
      return MakeError(StatusCode::kInvalidArgument, "/spec", "a model with an MTP head",
                       engine_.info().mtp_source, "/spec ngram");
    }
    if (wanted.kind != SpeculationKind::kOff && !settings_.may_speculate) {
      return MakeError(StatusCode::kInvalidArgument, "/spec", "off beside --contract off", argument,
                       "verbatim chat without --contract off");
    }
    settings_.speculation = std::move(wanted);
  }
  Say(fmt::format("Speculation: {}.\n", SpeculationText(settings_.speculation)));
  return {};
}

Status ChatLoop::Answer(const std::string& message) {
  VERBATIM_ASSIGN_OR_RETURN(const std::string prompt,
                            engine_.ApplyChatTemplate(session_.TemplateMessages(message)));
  Request request;
  VERBATIM_ASSIGN_OR_RETURN(request.prompt_token_ids, engine_.Tokenize(prompt));
  const auto prompt_tokens = static_cast<int64_t>(request.prompt_token_ids.size());
  const int64_t context = engine_.info().context;
  if (prompt_tokens >= context) {
    return MakeError(StatusCode::kResourceExhausted, "context",
                     fmt::format("a conversation of fewer than {} tokens", context),
                     fmt::format("{}", prompt_tokens),
                     "/reset, a shorter message, or verbatim chat with a larger --context");
  }
  if (conversation_ == kNoConversation) {
    VERBATIM_ASSIGN_OR_RETURN(conversation_, engine_.OpenConversation());
  }
  request.conversation = conversation_;
  request.keep_prefix = StablePrefix(message, request.prompt_token_ids);
  request.max_tokens = settings_.max_tokens == 0 ? context : settings_.max_tokens;
  request.stop = settings_.stop;
  request.speculation = settings_.speculation;
  request.sampling = settings_.sampling;

  ChatTurn turn{.user = message, .answer = {}};
  VERBATIM_ASSIGN_OR_RETURN(
      const Result result,
      RunTurn(std::move(request), ThinkingSplitter::EndsInThinking(prompt), &turn.answer));
  if (result.finish_reason == FinishReason::kError) return result.error;
  stats_.Add(prompt_tokens, result);
  session_.Add(std::move(turn));
  const int64_t tokens = prompt_tokens + static_cast<int64_t>(result.token_ids.size());
  const auto note = [&](std::string_view text) {
    terminal_.Note(terminal_.OnError(Style::kDim, text));
  };
  if (result.finish_reason == FinishReason::kCancelled) {
    note("(interrupted)");
  } else if (tokens >= context) {
    Say(
        fmt::format("The context of {} tokens is full; /reset starts anew, and verbatim chat with "
                    "a larger --context has more room.\n",
                    context));
  } else if (result.finish_reason == FinishReason::kLength) {
    note("(ended by --max-tokens)");
  }
  // For the eye: the next prompt stands apart.
  return settings_.interactive ? terminal_.Write("\n") : Status();
}

Expected<Result> ChatLoop::RunTurn(Request request, bool thinking, ChatAnswer* answer) {
  ThinkingSplitter splitter(thinking);
  const auto part_sink = [&](std::string_view part, bool is_thinking) -> Status {
    (is_thinking ? answer->reasoning : answer->content) += part;
    return display_.Show(part, is_thinking);
  };
  const TextSink sink = [&](std::string_view text, bool) { return splitter.Push(text, part_sink); };
  VERBATIM_ASSIGN_OR_RETURN(Result result,
                            RunRequest(engine_, std::move(request), *signals_, sink));
  VERBATIM_RETURN_IF_ERROR(splitter.Finish(part_sink));
  VERBATIM_RETURN_IF_ERROR(display_.End());
  answer->interrupted = result.finish_reason == FinishReason::kCancelled;
  return result;
}

int64_t ChatLoop::StablePrefix(const std::string& message,
                               const std::vector<int32_t>& prompt) const {
  // What the template makes of a next turn is asked of itself, with an answer made up.
  ChatSession pretended = session_;
  pretended.Add({.user = message, .answer = {.content = "x"}});
  const auto text = engine_.ApplyChatTemplate(pretended.TemplateMessages("x"));
  if (!text.ok()) return 0;
  const auto ids = engine_.Tokenize(*text);
  if (!ids.ok()) return 0;
  return std::ranges::mismatch(prompt, *ids).in1 - prompt.begin();
}

void ChatLoop::ForgetState() {
  if (conversation_ == kNoConversation) return;
  // It may be closed at any time; the next answer opens another.
  [[maybe_unused]] const Status closed = engine_.CloseConversation(conversation_);
  conversation_ = kNoConversation;
}

void ChatLoop::Say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void ChatLoop::Fail(const Status& status) {
  failed_ = true;
  Say(status.message() + "\n");
}

}  // namespace verbatim::cli
