// ChatSession: the messages of a conversation, and their file. Not the answers' making, and not
// what is shown.
#ifndef VERBATIM_APPS_CHAT_SESSION_H_
#define VERBATIM_APPS_CHAT_SESSION_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim::cli {

struct ChatAnswer {
  std::string content = {};
  std::string reasoning = {};  // what stood between <think> and </think>
  bool interrupted = false;    // Ctrl-C ended it
};

struct ChatTurn {
  std::string user;
  ChatAnswer answer;
};

class ChatSession {
 public:
  const std::string& system() const { return system_; }  // empty: no system message
  void set_system(std::string text) { system_ = std::move(text); }
  std::span<const ChatTurn> turns() const { return turns_; }
  void Add(ChatTurn turn) { turns_.push_back(std::move(turn)); }
  void Clear() { turns_.clear(); }  // the system message stays

  // The JSON array of messages that a chat template takes, with `user` as the next one. The
  // template decides what becomes of the reasoning of earlier turns.
  std::string TemplateMessages(std::string_view user) const;

  // {"format": "verbatim-chat", "version": 1, "model": ..., "messages": [...]}.
  std::string ToJson(std::string_view model) const;
  // Errors: kCorrupt, naming `where` and what is wrong in it. `model` receives the file's model.
  static Expected<ChatSession> FromJson(std::string_view text, std::string_view where,
                                        std::string* model);

 private:
  std::string system_;
  std::vector<ChatTurn> turns_;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CHAT_SESSION_H_
