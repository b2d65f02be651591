// Status and Expected: the form of errors and the two macros.
#include "verbatim/status.h"

#include <gtest/gtest.h>

namespace verbatim {
namespace {

TEST(Status, ErrorsHaveOneForm) {
  const Status status =
      MakeError(StatusCode::kCorrupt, "a.safetensors", "8 bytes", "3 bytes", "a fresh download");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.message(),
            "[a.safetensors] expected 8 bytes, received 3 bytes; try a fresh download");
  EXPECT_EQ(MakeError(StatusCode::kIo, "f", "x", "y").message(), "[f] expected x, received y");
  EXPECT_EQ(StatusCodeName(status.code()), "corrupt");
}

// A tensor's name, say, that would clear the screen.
TEST(Status, ErrorsAreOneLineOfPrintableText) {
  const Status status = MakeError(StatusCode::kCorrupt, "a\x1b[2J\nb", std::string("\0x", 2),
                                  "\xc2\x9b"
                                  "31m caf\xc3\xa9 \xc2\xa0",
                                  "\t\x7f\r");
  EXPECT_EQ(status.message(), "[a?[2J b] expected ?x, received ?31m caf\xc3\xa9 \xc2\xa0; try  ? ");
}

Expected<int> Half(int x) {
  if (x % 2 != 0)
    return MakeError(StatusCode::kInvalidArgument, "Half", "an even number", "an odd one");
  return x / 2;
}

Expected<int> Quarter(int x) {
  VERBATIM_ASSIGN_OR_RETURN(const int half, Half(x));
  VERBATIM_RETURN_IF_ERROR(Half(half).status());
  return half / 2;
}

TEST(Status, MacrosPropagate) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_FALSE(Quarter(6).ok());
  EXPECT_FALSE(Quarter(3).ok());
}

}  // namespace
}  // namespace verbatim
