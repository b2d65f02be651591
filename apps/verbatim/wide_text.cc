// The two conversions.
#include "apps/verbatim/wide_text.h"

#include <cstdint>

namespace verbatim::cli {
namespace {

constexpr wchar_t kReplacement = 0xFFFD;

}  // namespace

std::wstring ToWide(std::string_view utf8) {
  std::wstring wide;
  for (size_t i = 0; i < utf8.size();) {
    const auto first = static_cast<unsigned char>(utf8[i]);
    const size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    wchar_t code = length == 1 ? first : first & (0x7F >> length);
    bool good = first < 0x80 || (first >= 0xC2 && first < 0xF5);
    size_t used = 1;
    while (good && used < length) {
      good = i + used < utf8.size() && (static_cast<unsigned char>(utf8[i + used]) & 0xC0) == 0x80;
      if (good) code = code << 6 | (utf8[i + used++] & 0x3F);
    }
    wide += good ? code : kReplacement;
    i += used;
  }
  return wide;
}

std::string ToUtf8(std::wstring_view wide) {
  std::string utf8;
  for (const wchar_t character : wide) {
    const uint32_t code = static_cast<char32_t>(character);
    if (code < 0x80) {
      utf8 += static_cast<char>(code);
    } else if (code < 0x800) {
      utf8 += static_cast<char>(0xC0 | code >> 6);
    } else if (code < 0x10000) {
      utf8 += static_cast<char>(0xE0 | code >> 12);
      utf8 += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    } else {
      utf8 += static_cast<char>(0xF0 | code >> 18);
      utf8 += static_cast<char>(0x80 | (code >> 12 & 0x3F));
      utf8 += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80) utf8 += static_cast<char>(0x80 | (code & 0x3F));
  }
  return utf8;
}

}  // namespace verbatim::cli
