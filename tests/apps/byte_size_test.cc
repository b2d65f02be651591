// ParseByteSize: numbers with units parse or fail, never truncate.
#include "apps/verbatim/byte_size.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

TEST(ByteSize, UnitsAndFractions) {
  const auto bytes = [](std::string_view text) { return *ParseByteSize("--x", text); };
  EXPECT_EQ(bytes("0"), 0);
  EXPECT_EQ(bytes("4096"), 4096);
  EXPECT_EQ(bytes("4096B"), 4096);
  EXPECT_EQ(bytes("1KiB"), 1024);
  EXPECT_EQ(bytes("1K"), 1024);
  EXPECT_EQ(bytes("1KB"), 1000);
  EXPECT_EQ(bytes("1.5GiB"), 1610612736);
  EXPECT_EQ(bytes("2 MiB"), 2097152);
  EXPECT_EQ(bytes("3T"), 3298534883328);
}

TEST(ByteSize, EverythingElseFailsByName) {
  for (const char* text :
       {"", " ", "x", "-1", "1.5", "0.5KiBB", "1kib", "1 K iB", "1QB", "nan", "inf", "1e400",
        "5000000TiB", "1,5GiB", "0x10", "KiB", "1  KiB", "1KiB "}) {
    const auto parsed = ParseByteSize("--kv-memory", text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find("--kv-memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace verbatim::cli
