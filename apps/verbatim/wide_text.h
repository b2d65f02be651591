// UTF-8 to the wide characters of libedit and back. Not what they mean to it (line_editor.cc).
#ifndef VERBATIM_APPS_WIDE_TEXT_H_
#define VERBATIM_APPS_WIDE_TEXT_H_

#include <string>
#include <string_view>

namespace verbatim::cli {

// What is not UTF-8 becomes U+FFFD.
std::wstring ToWide(std::string_view utf8);
std::string ToUtf8(std::wstring_view wide);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_WIDE_TEXT_H_
