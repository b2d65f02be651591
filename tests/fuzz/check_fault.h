// CheckFault: an error of the house's form, or abort. Not for GoogleTest
// (checkpoint/expect_error.h).
#ifndef VERBATIM_TESTS_FUZZ_CHECK_FAULT_H_
#define VERBATIM_TESTS_FUZZ_CHECK_FAULT_H_

#include <string>
#include <string_view>

#include "base/check.h"
#include "verbatim/status.h"

namespace verbatim::fuzz {

inline void CheckFaultText(std::string_view text) {
  VERBATIM_CHECK(text.starts_with("["));
  VERBATIM_CHECK(text.find("] expected ") != text.npos);
  VERBATIM_CHECK(text.find(", received ") != text.npos);
  VERBATIM_CHECK(text.find_first_of("\n\r\x1b") == text.npos);
}

inline void CheckFault(const Status& status) {
  VERBATIM_CHECK(!status.ok());
  CheckFaultText(status.message());
}

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_CHECK_FAULT_H_
