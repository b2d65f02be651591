// The commands of chat: what a line with a slash asks for. Not their execution.
#ifndef VERBATIM_APPS_CHAT_COMMANDS_H_
#define VERBATIM_APPS_CHAT_COMMANDS_H_

#include <string>
#include <string_view>

#include "verbatim/request.h"
#include "verbatim/status.h"

namespace verbatim::cli {

enum class ChatCommandKind { kHelp, kReset, kSystem, kSave, kLoad, kStats, kSpec, kExit };

struct ChatCommand {
  ChatCommandKind kind;
  std::string argument;  // without the white space around it
};

// `line` begins with a slash. Errors: kInvalidArgument for an unknown command, a missing argument
// or one too many.
Expected<ChatCommand> ParseChatCommand(std::string_view line);

// "off", "mtp", "ngram", the last two with a number of drafts or "auto" behind them. Without one
// the number stays that of `now`. Errors: kInvalidArgument.
Expected<SpeculationOptions> ParseSpecArgument(std::string_view argument,
                                               const SpeculationOptions& now);

// "mtp, 3 drafts", "off".
std::string SpeculationText(const SpeculationOptions& speculation);

std::string ChatHelp();  // one line per command, and how to type

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CHAT_COMMANDS_H_
