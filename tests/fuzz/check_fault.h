// CheckFault: an error of the house's form, or abort. Not for GoogleTest
// (checkpoint/expect_error.h).
#ifndef VERBATIM_TESTS_FUZZ_CHECK_FAULT_H_
#define VERBATIM_TESTS_FUZZ_CHECK_FAULT_H_

#include <string>

#include "base/check.h"
#include "verbatim/status.h"

namespace verbatim::fuzz {

inline void CheckFault(const Status& status) {
  VERBATIM_CHECK(!status.ok());
  VERBATIM_CHECK(status.message().starts_with("["));
  VERBATIM_CHECK(status.message().find("] expected ") != std::string::npos);
  VERBATIM_CHECK(status.message().find(", received ") != std::string::npos);
  VERBATIM_CHECK(status.message().find_first_of("\n\r\x1b") == std::string::npos);
}

}  // namespace verbatim::fuzz

#endif  // VERBATIM_TESTS_FUZZ_CHECK_FAULT_H_
