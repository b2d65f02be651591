// The text of errors. Not their handling.
#include "verbatim/status.h"

#include <fmt/format.h>

namespace verbatim {

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
    case StatusCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Status MakeError(StatusCode code, std::string_view where, std::string_view expected,
                 std::string_view received, std::string_view advice) {
  std::string text = fmt::format("[{}] expected {}, received {}", where, expected, received);
  if (!advice.empty()) text += fmt::format("; try {}", advice);
  return Status(code, std::move(text));
}

}  // namespace verbatim
