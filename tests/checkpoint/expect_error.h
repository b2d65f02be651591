// ExpectError: one fault, one clear error. Not for successful results.
#ifndef VERBATIM_TESTS_CHECKPOINT_EXPECT_ERROR_H_
#define VERBATIM_TESTS_CHECKPOINT_EXPECT_ERROR_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim::testing {

// The code, the house form, and each part in the message.
inline void ExpectError(const Status& status, StatusCode code,
                        std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(StatusCodeName(status.code()), StatusCodeName(code)) << status.message();
  EXPECT_THAT(status.message(), ::testing::StartsWith("["));
  EXPECT_THAT(status.message(), ::testing::HasSubstr("] expected "));
  EXPECT_THAT(status.message(), ::testing::HasSubstr(", received "));
  for (const std::string_view part : parts) {
    EXPECT_THAT(status.message(), ::testing::HasSubstr(std::string(part)));
  }
}

template <typename T>
void ExpectError(const Expected<T>& result, StatusCode code,
                 std::initializer_list<std::string_view> parts) {
  ASSERT_FALSE(result.ok()) << "succeeded";
  ExpectError(result.status(), code, parts);
}

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_CHECKPOINT_EXPECT_ERROR_H_
