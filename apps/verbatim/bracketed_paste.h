// PasteParser: which of a terminal's bytes are keys and which are pasted text (bracketed paste).
// Not the line that either goes into (line_editor.h).
#ifndef VERBATIM_APPS_BRACKETED_PASTE_H_
#define VERBATIM_APPS_BRACKETED_PASTE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace verbatim::cli {

// While the mode is on, a terminal sends a pasted text between two markers.
inline constexpr std::string_view kPasteModeOn = "\x1b[?2004h";
inline constexpr std::string_view kPasteModeOff = "\x1b[?2004l";

// Takes the bytes one by one, however they were cut. A marker's first bytes are held until it is
// clear that they are one; an end marker without a paste is dropped.
class PasteParser {
 public:
  // The largest context of the models at hand is 262,144 tokens, at 4 bytes a token of ordinary
  // text. What is longer is no message.
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  enum class Event {
    kNone,      // part of a marker or of a paste
    kKeys,      // there is something for TakeKeys
    kPaste,     // a paste has ended: TakePaste
    kTooLarge,  // a paste of more than kMaxBytes has ended, nothing of it was kept
  };
  Event Push(char byte);

  std::string TakeKeys();   // bytes outside of pastes, since the last call
  std::string TakePaste();  // the bytes between the markers

  bool in_paste() const { return in_paste_; }
  // What was received of an open paste is dropped, and what follows until its end, too.
  void Discard();
  // Whatever is open is closed and dropped: the next byte is a key's first.
  void Reset();

 private:
  Event EndPaste();

  bool in_paste_ = false;
  bool too_large_ = false;
  bool discarded_ = false;
  std::string held_;  // outside: the beginning of what may be a marker
  std::string keys_;
  std::string paste_;  // with its end marker as far as that has come
};

// A pasted text as it may enter a line: line breaks, in whichever form they came, as \n; of the
// control characters only these and tabs.
std::wstring WithoutKeys(std::wstring_view pasted);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_BRACKETED_PASTE_H_
