// One table of commands for parsing and for help.
#include "apps/verbatim/chat_commands.h"

#include <fmt/format.h>

#include <array>

#include "apps/verbatim/option_value.h"

namespace verbatim::cli {
namespace {

enum class Argument { kNone, kOptional, kNeeded };

struct CommandSpec {
  ChatCommandKind kind;
  std::string_view name;
  Argument argument;
  std::string_view argument_name;
  std::string_view help;
};

constexpr std::array<CommandSpec, 8> kCommands = {{
    {ChatCommandKind::kHelp, "/help", Argument::kNone, "", "Show this list"},
    {ChatCommandKind::kReset, "/reset", Argument::kNone, "",
     "Forget the conversation; the system message stays"},
    {ChatCommandKind::kSystem, "/system", Argument::kOptional, "TEXT",
     "Set the system message, or show it"},
    {ChatCommandKind::kSave, "/save", Argument::kNeeded, "FILE", "Write the conversation as JSON"},
    {ChatCommandKind::kLoad, "/load", Argument::kNeeded, "FILE",
     "Go on with a conversation from a file"},
    {ChatCommandKind::kStats, "/stats", Argument::kNone, "",
     "Tokens, speed, cached prompt tokens, accepted drafts"},
    {ChatCommandKind::kSpec, "/spec", Argument::kOptional, "off|mtp|ngram [N|auto]",
     "Choose who drafts, or show it; the answers stay the same"},
    {ChatCommandKind::kExit, "/exit", Argument::kNone, "", "End; Ctrl-D does too"},
}};

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

Status UsageError(std::string_view where, std::string_view expected, std::string_view received,
                  std::string_view advice) {
  return MakeError(StatusCode::kInvalidArgument, where, expected, received, advice);
}

}  // namespace

Expected<ChatCommand> ParseChatCommand(std::string_view line) {
  line = Trimmed(line);
  const size_t space = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string_view name = line.substr(0, space);
  const std::string_view argument = Trimmed(line.substr(space));
  for (const CommandSpec& command : kCommands) {
    if (command.name != name && !(name == "/quit" && command.kind == ChatCommandKind::kExit)) {
      continue;
    }
    if (command.argument == Argument::kNone && !argument.empty()) {
      return UsageError(name, "nothing behind it", argument, name);
    }
    if (command.argument == Argument::kNeeded && argument.empty()) {
      return UsageError(name, fmt::format("{} behind it", command.argument_name), "nothing",
                        fmt::format("{} {}", name, command.argument_name));
    }
    return ChatCommand{command.kind, std::string(argument)};
  }
  return UsageError("chat", "a command", name.substr(0, 40),
                    "/help, or a space in front of a message that begins with a slash");
}

Expected<SpeculationOptions> ParseSpecArgument(std::string_view argument,
                                               const SpeculationOptions& now) {
  const size_t space = std::min(argument.find_first_of(" \t"), argument.size());
  const std::string_view name = argument.substr(0, space);
  const std::string_view count = Trimmed(argument.substr(space));
  SpeculationOptions wanted = now;
  wanted.replay.clear();
  if (name == "off") {
    wanted.kind = SpeculationKind::kOff;
  } else if (name == "mtp") {
    wanted.kind = SpeculationKind::kMtp;
  } else if (name == "ngram") {
    wanted.kind = SpeculationKind::kNgram;
  } else {
    return UsageError("/spec", "off, mtp or ngram", name, "/spec mtp 3");
  }
  if (count.empty()) return wanted;
  int64_t number = 0;
  const bool automatic = count == "auto";
  if (wanted.kind == SpeculationKind::kOff ||
      (!automatic && (!ParseInteger(count, &number) || number < 1 || number > kMaxDraftTokens))) {
    return UsageError("/spec",
                      wanted.kind == SpeculationKind::kOff
                          ? "nothing behind off"
                          : fmt::format("1 to {} or auto behind {}", kMaxDraftTokens, name),
                      count, "/spec mtp 3");
  }
  wanted.automatic = automatic;
  wanted.draft_tokens = automatic ? kMaxDraftTokens : static_cast<int>(number);
  return wanted;
}

std::string SpeculationText(const SpeculationOptions& speculation) {
  const std::string_view name = SpeculationKindName(speculation.kind);
  if (speculation.kind == SpeculationKind::kOff) return std::string(name);
  if (speculation.automatic) return fmt::format("{}, drafts chosen automatically", name);
  return fmt::format("{}, {} draft{}", name, speculation.draft_tokens,
                     speculation.draft_tokens == 1 ? "" : "s");
}

std::string ChatHelp() {
  std::string text;
  for (const CommandSpec& command : kCommands) {
    text += fmt::format("{:<29} {}\n", fmt::format("{} {}", command.name, command.argument_name),
                        command.help);
  }
  text += R"(
A line is a message. A backslash at its end continues it; """ begins a message of several lines
and ends it. Pasted text stays one message, whatever is in it, until Enter is pressed. Ctrl-C ends
the answer or clears the line, two in a row end the program.
)";
  return text;
}

}  // namespace verbatim::cli
