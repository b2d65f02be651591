// A state of two values, inside and outside, and the beginnings of two markers.
#include "apps/verbatim/bracketed_paste.h"

#include <utility>

namespace verbatim::cli {
namespace {

constexpr std::string_view kStart = "\x1b[200~";
constexpr std::string_view kEnd = "\x1b[201~";

}  // namespace

PasteParser::Event PasteParser::Push(char byte) {
  if (in_paste_) {
    paste_ += byte;
    if (paste_.ends_with(kEnd)) return EndPaste();
    if (paste_.size() >= kMaxBytes + kEnd.size()) too_large_ = true;
    // Of what is not kept, only what may be the end marker's beginning.
    if ((too_large_ || discarded_) && paste_.size() > kEnd.size()) {
      paste_.erase(0, paste_.size() - kEnd.size());
    }
    return Event::kNone;
  }
  held_ += byte;
  if (held_ == kStart) {
    held_.clear();
    in_paste_ = true;
    return Event::kNone;
  }
  if (held_ == kEnd) {
    held_.clear();
    return Event::kNone;
  }
  // What can't become a marker any more are keys. Only its first byte can begin one.
  while (!held_.empty() && !kStart.starts_with(held_) && !kEnd.starts_with(held_)) {
    keys_ += held_.front();
    held_.erase(0, 1);
  }
  return keys_.empty() ? Event::kNone : Event::kKeys;
}

PasteParser::Event PasteParser::EndPaste() {
  paste_.resize(paste_.size() - kEnd.size());
  in_paste_ = false;
  const bool dropped = std::exchange(discarded_, false);
  const bool too_large = std::exchange(too_large_, false);
  if (dropped || too_large) paste_.clear();
  if (dropped) return Event::kNone;
  return too_large ? Event::kTooLarge : Event::kPaste;
}

std::string PasteParser::TakeKeys() { return std::exchange(keys_, {}); }

std::string PasteParser::TakePaste() { return std::exchange(paste_, {}); }

void PasteParser::Discard() {
  keys_.clear();
  held_.clear();
  discarded_ = in_paste_;
}

void PasteParser::Reset() { *this = PasteParser(); }

std::wstring WithoutKeys(std::wstring_view pasted) {
  std::wstring text;
  for (size_t i = 0; i < pasted.size(); ++i) {
    const wchar_t character = pasted[i];
    if (character == L'\r') {
      if (i + 1 == pasted.size() || pasted[i + 1] != L'\n') text += L'\n';
      continue;
    }
    // C0 but tab and line feed; DEL and C1.
    const bool control = (character < 0x20 && character != L'\t' && character != L'\n') ||
                         (character >= 0x7F && character < 0xA0);
    if (!control) text += character;
  }
  return text;
}

}  // namespace verbatim::cli
