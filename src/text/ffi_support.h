// Ownership and errors of the Rust crate's C ABI, in C++ terms. Not for use outside src/text.
#ifndef VERBATIM_TEXT_FFI_SUPPORT_H_
#define VERBATIM_TEXT_FFI_SUPPORT_H_

#include <string>
#include <string_view>

#include "text/ffi/verbatim_text_ffi.h"
#include "verbatim/status.h"

namespace verbatim::text_ffi {

// Owns the bytes that the crate hands out.
class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { vtf_bytes_free(value_); }

  VtfBytes* out() { return &value_; }  // to be written once
  std::string_view view() const {
    if (value_.data == nullptr) return {};
    return {reinterpret_cast<const char*>(value_.data), value_.size};
  }

 private:
  VtfBytes value_{nullptr, 0};
};

// Owns the token ids that the crate hands out.
class Ids {
 public:
  Ids() = default;
  Ids(const Ids&) = delete;
  Ids& operator=(const Ids&) = delete;
  ~Ids() { vtf_ids_free(value_); }

  VtfIds* out() { return &value_; }
  const uint32_t* begin() const { return value_.data; }
  const uint32_t* end() const { return value_.data + value_.size; }

 private:
  VtfIds value_{nullptr, 0};
};

inline const uint8_t* Data(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

// The Status of a failed call: `code` is a VtfStatus other than VTF_OK.
Status ToStatus(int code, std::string_view where, std::string_view expected, const Bytes& error,
                std::string_view advice = {});

}  // namespace verbatim::text_ffi

#endif  // VERBATIM_TEXT_FFI_SUPPORT_H_
