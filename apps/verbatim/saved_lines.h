// SavedLines: repairs what libedit (3.1-20221030) does to a long line that it leaves for the
// history: it keeps the line's length, but copies only 1,024 characters. Not the history.
#ifndef VERBATIM_APPS_SAVED_LINES_H_
#define VERBATIM_APPS_SAVED_LINES_H_

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>

namespace verbatim::cli {

class SavedLines {
 public:
  static constexpr size_t kCopied = 1024;  // EL_BUFSIZ of libedit's el.h

  // A line that libedit may be about to leave. Short and damaged ones are none of ours.
  void Keep(std::wstring_view line);
  // Whether `line` is damaged, from kCopied on NUL, and was one of those kept: then it is whole
  // now.
  bool Repair(std::span<wchar_t> line) const;
  void Clear() { lines_.clear(); }

 private:
  // One is left at a time; the others are entries of the history that were shown since. At 4 MiB
  // for the longest, this is still little memory.
  static constexpr size_t kMaxLines = 16;

  std::deque<std::wstring> lines_;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_SAVED_LINES_H_
