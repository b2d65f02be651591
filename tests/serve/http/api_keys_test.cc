// Key files and who may ask.
#include "serve/http/api_keys.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/temporary_folder.h"

namespace verbatim::serve {
namespace {

HttpRequest With(std::vector<HttpHeader> headers) {
  HttpRequest request;
  request.headers = std::move(headers);
  return request;
}

TEST(ApiKeys, OnePerLineWithCommentsAndBlanks) {
  const auto keys =
      ApiKeys::Parse("# staff\r\n\r\n  first-key-1 \r\n\tsecond-key#2\n#third-key\n", "f");
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  EXPECT_EQ(keys->size(), 2U);
  EXPECT_TRUE(keys->Contains("first-key-1"));
  EXPECT_TRUE(keys->Contains("second-key#2"));
  for (const char* other : {"", "first-key-", "first-key-12", "First-key-1", "#third-key",
                            "third-key", " first-key-1", "# staff"}) {
    EXPECT_FALSE(keys->Contains(other)) << other;
  }
}

TEST(ApiKeys, BothHeaders) {
  const auto keys = ApiKeys::Parse("first-key-1\nsecond-key-2", "f");
  ASSERT_TRUE(keys.ok());
  EXPECT_TRUE(keys->Allow(With({{"Authorization", "Bearer first-key-1"}})));
  EXPECT_TRUE(keys->Allow(With({{"authorization", "bEARER   second-key-2"}})));
  EXPECT_TRUE(keys->Allow(With({{"X-API-Key", "second-key-2"}})));
  EXPECT_TRUE(
      keys->Allow(With({{"Authorization", "Bearer wrong-key"}, {"x-api-key", "first-key-1"}})));
  EXPECT_TRUE(keys->Allow(With({{"Authorization", "Bearer first-key-1"}, {"x-api-key", "wrong"}})));
  EXPECT_FALSE(keys->Allow(With({})));
  EXPECT_FALSE(keys->Allow(With({{"Authorization", "first-key-1"}})));
  EXPECT_FALSE(keys->Allow(With({{"Authorization", "Basic first-key-1"}})));
  EXPECT_FALSE(keys->Allow(With({{"Authorization", "Bearer"}})));
  EXPECT_FALSE(keys->Allow(With({{"Authorization", "Bearer "}})));
  EXPECT_FALSE(keys->Allow(With({{"Authorization", "Bearerfirst-key-1"}})));
  EXPECT_FALSE(keys->Allow(With({{"x-api-key", "Bearer first-key-1"}})));
  EXPECT_FALSE(keys->Allow(With({{"Authorization", "Bearer first-key-1, second-key-2"}})));
}

void ExpectFault(const Expected<ApiKeys>& keys, StatusCode code, std::string_view part) {
  ASSERT_FALSE(keys.ok());
  EXPECT_EQ(keys.status().code(), code);
  EXPECT_NE(keys.status().message().find(part), std::string::npos) << keys.status().message();
  EXPECT_EQ(keys.status().message().find("s3cret"), std::string::npos) << keys.status().message();
}

TEST(ApiKeys, FaultsNameTheLineAndNeverTheKey) {
  ExpectFault(ApiKeys::Parse("", "keys.txt"), StatusCode::kInvalidArgument, "[keys.txt] expected");
  ExpectFault(ApiKeys::Parse("# none\n\n", "keys.txt"), StatusCode::kInvalidArgument,
              "at least one");
  ExpectFault(ApiKeys::Parse("long-enough\n\ns3cret\n", "keys.txt"), StatusCode::kInvalidArgument,
              "[keys.txt:3] expected a key of 8 to 512 characters, received one of 6");
  ExpectFault(ApiKeys::Parse("s3cret" + std::string(507, 'x'), "k"), StatusCode::kInvalidArgument,
              "[k:1]");
  ExpectFault(ApiKeys::Parse("s3cret with blanks", "k"), StatusCode::kInvalidArgument, "blanks");
  ExpectFault(ApiKeys::Parse("s3cret-\xc3\xa9", "k"), StatusCode::kInvalidArgument, "ASCII");
  ExpectFault(ApiKeys::Parse(std::string("s3cret-\0-x", 10), "k"), StatusCode::kInvalidArgument,
              "ASCII");
  EXPECT_TRUE(ApiKeys::Parse("12345678", "k").ok());
}

TEST(ApiKeys, Files) {
  const auto folder = TemporaryFolder::CreateUnique("verbatim-keys-");
  ASSERT_TRUE(folder.ok());
  const std::filesystem::path file = folder->path() / "keys.txt";
  ExpectFault(ApiKeys::Read(file), StatusCode::kNotFound, file.string());
  ExpectFault(ApiKeys::Read(folder->path()), StatusCode::kIo, folder->path().string());
  std::ofstream(file) << "a-key-in-a-file\n";
  const auto keys = ApiKeys::Read(file);
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  EXPECT_TRUE(keys->Contains("a-key-in-a-file"));
  std::ofstream(file) << std::string(2 << 20, '#');
  ExpectFault(ApiKeys::Read(file), StatusCode::kInvalidArgument, "1048576 bytes");
}

}  // namespace
}  // namespace verbatim::serve
