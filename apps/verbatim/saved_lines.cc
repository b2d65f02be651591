// A damaged line is known by its length and what is left of it.
#include "apps/verbatim/saved_lines.h"

#include <algorithm>

namespace verbatim::cli {

void SavedLines::Keep(std::wstring_view line) {
  if (line.size() <= kCopied || line[kCopied] == L'\0') return;
  // The first that is kept is the one that was typed; entries of the history follow it.
  if (std::ranges::find(lines_, line) != lines_.end()) return;
  if (lines_.size() == kMaxLines) lines_.erase(lines_.begin() + 1);
  lines_.emplace_back(line);
}

bool SavedLines::Repair(std::span<wchar_t> line) const {
  if (line.size() <= kCopied || line[kCopied] != L'\0') return false;
  const std::wstring_view left(line.data(), kCopied);
  const auto whole = std::ranges::find_if(lines_, [&](const std::wstring& kept) {
    return kept.size() == line.size() && kept.starts_with(left);
  });
  if (whole == lines_.end()) return false;
  std::ranges::copy(*whole, line.begin());
  return true;
}

}  // namespace verbatim::cli
