// Token lists: the forms that are read, and the line in every fault.
#include "apps/verbatim/token_list.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

std::vector<int32_t> Ids(std::string_view text) {
  const auto ids = ParseTokenIds(text, "f", true);
  EXPECT_TRUE(ids.ok()) << text << ": " << ids.status().message();
  return ids.ok() ? *ids : std::vector<int32_t>{};
}

std::string Fault(std::string_view text) {
  const auto ids = ParseTokenIds(text, "f", true);
  if (ids.ok()) return "accepted";
  EXPECT_EQ(ids.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ids.status().message().find('\n'), std::string::npos);
  return ids.status().message().substr(0, ids.status().message().find(';'));
}

TEST(TokenListTest, Forms) {
  const std::vector<int32_t> expected = {1, 2, 3};
  for (std::string_view text :
       {"1,2,3", "1 2 3", "1\n2\r\n3\n", " 1 , 2,\t3 ", "[1,2,3]", " [ 1 ,\n 2, 3 ] \n"}) {
    EXPECT_EQ(Ids(text), expected) << text;
  }
  EXPECT_EQ(Ids("2147483647"), (std::vector<int32_t>{2147483647}));
}

TEST(TokenListTest, FaultsNameTheirLine) {
  EXPECT_EQ(Fault("1\n2\n3x"), "[f:3] expected a token id from 0 to 2147483647, received 3x");
  EXPECT_EQ(Fault("1,\n,2"), "[f:2] expected a token id from 0 to 2147483647, received ,2");
  EXPECT_EQ(Fault("-1"), "[f:1] expected a token id from 0 to 2147483647, received -1");
  EXPECT_EQ(Fault("2147483648"),
            "[f:1] expected a token id from 0 to 2147483647, received 2147483648");
  EXPECT_EQ(Fault("1,2,\n"), "[f:2] expected a token id after the comma, received the end");
  EXPECT_EQ(Fault("[1 2]"), "[f:1] expected a comma or ], received 2");
  EXPECT_EQ(Fault("[1,\n2"), "[f:2] expected ] at the end of the array, received the end");
  EXPECT_EQ(Fault("[1,]"), "[f:1] expected a token id after the comma, received ]");
  EXPECT_EQ(Fault("[1]\n\n2"), "[f:3] expected nothing after the array, received 2");
  EXPECT_EQ(Fault("[[1]]"), "[f:1] expected a token id from 0 to 2147483647, received [1");
  EXPECT_EQ(Fault("1.5"), "[f:1] expected a token id from 0 to 2147483647, received 1.5");
  EXPECT_EQ(Fault("1]"), "[f:1] expected a token id from 0 to 2147483647, received ]");
}

TEST(TokenListTest, EmptyListsAreRefused) {
  for (std::string_view text : {"", " \n", "[]", "[ ]"}) {
    EXPECT_NE(Fault(text).find("expected at least one token id, received none"), std::string::npos)
        << text;
  }
}

TEST(TokenListTest, WithoutLine) {
  EXPECT_EQ(ParseTokenIds("x", "--ids", false).status().message().find("[--ids] expected"), 0u);
}

}  // namespace
}  // namespace verbatim::cli
