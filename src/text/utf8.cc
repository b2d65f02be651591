// The byte ranges of well-formed UTF-8 (Unicode 15, table 3-7) as a small state machine. Not fast
// on long texts, nor need it be: tokens are a few bytes.
#include "text/utf8.h"

namespace verbatim {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

void Utf8Stream::Append(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (missing_ > 0) {
      if (byte >= lower_ && byte <= upper_) {
        pending_[pending_size_++] = c;
        lower_ = 0x80;
        upper_ = 0xBF;
        if (--missing_ == 0) {
          out.append(pending_, pending_size_);
          pending_size_ = 0;
        }
        continue;
      }
      Finish(out);  // the byte itself may start a character: go on with it
    }
    if (byte < 0x80) {
      out.push_back(c);
      continue;
    }
    if (byte >= 0xC2 && byte <= 0xDF) {
      missing_ = 1;
    } else if (byte >= 0xE0 && byte <= 0xEF) {
      missing_ = 2;
      if (byte == 0xE0) lower_ = 0xA0;  // below: overlong
      if (byte == 0xED) upper_ = 0x9F;  // above: surrogates
    } else if (byte >= 0xF0 && byte <= 0xF4) {
      missing_ = 3;
      if (byte == 0xF0) lower_ = 0x90;  // below: overlong
      if (byte == 0xF4) upper_ = 0x8F;  // above: beyond U+10FFFF
    } else {
      out.append(kReplacement);
      continue;
    }
    pending_[pending_size_++] = c;
  }
}

void Utf8Stream::Finish(std::string& out) {
  if (pending_size_ > 0) out.append(kReplacement);
  pending_size_ = 0;
  missing_ = 0;
  lower_ = 0x80;
  upper_ = 0xBF;
}

}  // namespace verbatim
