// Maps the crate's status codes to Status. Not for building messages of other sources.
#include "text/ffi_support.h"

namespace verbatim::text_ffi {

Status ToStatus(int code, std::string_view where, std::string_view expected, const Bytes& error,
                std::string_view advice) {
  StatusCode status = StatusCode::kInternal;
  switch (code) {
    case VTF_INVALID_UTF8:
    case VTF_INVALID_ARGUMENT:
    case VTF_RAISED:
      status = StatusCode::kInvalidArgument;
      break;
    case VTF_CORRUPT:
      status = StatusCode::kCorrupt;
      break;
    case VTF_UNSUPPORTED:
      status = StatusCode::kUnsupported;
      break;
    case VTF_EXHAUSTED:
      status = StatusCode::kResourceExhausted;
      break;
    default:
      break;
  }
  // A lack of memory or time is not the file's fault.
  if (status == StatusCode::kResourceExhausted) advice = {};
  return MakeError(status, where, expected, error.view(), advice);
}

}  // namespace verbatim::text_ffi
