// ChatHistory: the typed lines of earlier sessions, one a line in a file, also those with pasted
// line breaks inside. Not the conversations.
#ifndef VERBATIM_APPS_CHAT_HISTORY_H_
#define VERBATIM_APPS_CHAT_HISTORY_H_

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim::cli {

// $XDG_STATE_HOME/verbatim/history, else ~/.local/state/verbatim/history; empty without a home.
// `environment` returns "" for what is not set. A relative XDG_STATE_HOME counts as not set, as its
// specification demands.
std::filesystem::path HistoryPath(const std::function<std::string(const char*)>& environment);

class ChatHistory {
 public:
  static constexpr size_t kMaxLines = 1000;
  // Of one line as it is stored; longer ones are for the session that has them. It is what keeps
  // the file, of at most twice kMaxLines, at a size to be read at every start.
  static constexpr size_t kMaxLineBytes = size_t{32} << 10;

  explicit ChatHistory(std::filesystem::path path) : path_(std::move(path)) {}

  // The last kMaxLines lines, oldest first; a file of twice as many is cut to those. A missing file
  // has none. Errors: kIo.
  Expected<std::vector<std::string>> Load() const;
  // Appends one line at once, so that sessions side by side don't lose each other's. Creates the
  // file and its folders for their owner alone: people type private things. Errors: kIo.
  Status Append(std::string_view line) const;

 private:
  std::filesystem::path path_;  // empty: nothing is kept
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CHAT_HISTORY_H_
