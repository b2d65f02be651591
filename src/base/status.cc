// The text of errors. Not their handling.
#include "verbatim/status.h"

#include <fmt/format.h>

namespace verbatim {
namespace {

// Names and values in errors come from files and command lines: on a terminal they may neither end
// the line nor control it. Line breaks and tabs become spaces, other control characters (C0, DEL,
// and C1, which UTF-8 writes as C2 80 to C2 9F) question marks.
std::string OneLine(std::string text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
      text[i] = ' ';
    } else if (byte(i) < 0x20 || byte(i) == 0x7f) {
      text[i] = '?';
    } else if (byte(i) == 0xc2 && i + 1 < text.size() && byte(i + 1) >= 0x80 &&
               byte(i + 1) < 0xa0) {
      text.replace(i, 2, "?");
    }
  }
  return text;
}

}  // namespace

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid_argument";
    case StatusCode::kNotFound:
      return "not_found";
    case StatusCode::kCorrupt:
      return "corrupt";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kResourceExhausted:
      return "resource_exhausted";
    case StatusCode::kIo:
      return "io";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kDivergence:
      return "divergence";
    case StatusCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Status MakeError(StatusCode code, std::string_view where, std::string_view expected,
                 std::string_view received, std::string_view advice) {
  std::string text = fmt::format("[{}] expected {}, received {}", where, expected, received);
  if (!advice.empty()) text += fmt::format("; try {}", advice);
  return Status(code, OneLine(std::move(text)));
}

}  // namespace verbatim
