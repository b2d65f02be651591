// RequestLog: whole lines, by level, in both forms; a disk that is full is no reason to stop.
#include "serve/request_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "base/temporary_folder.h"

namespace verbatim::serve {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> Lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

class RequestLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<RequestLog> Open(LogLevel level, bool json) {
    return *RequestLog::Open({.level = level, .json = json, .file = path_.string()});
  }
  TemporaryFolder folder_ = *TemporaryFolder::CreateUnique("verbatim-log");
  std::filesystem::path path_ = folder_.path() / "log";
};

TEST_F(RequestLogTest, JsonLinesParseWhateverIsInThem) {
  const auto log = Open(LogLevel::kInfo, true);
  log->Write(LogLevel::kInfo, "request", {{"id", "a\n\"b\""}, {"bytes", "\xff"}, {"n", 3}});
  log->Write(LogLevel::kDebug, "not shown", {});
  const auto lines = Lines(path_);
  ASSERT_EQ(lines.size(), 1u);
  const Json line = Json::parse(lines[0]);
  EXPECT_EQ(line["event"], "request");
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["id"], "a\n\"b\"");
  EXPECT_EQ(line["n"], 3);
  EXPECT_TRUE(line["time"].get<std::string>().ends_with("Z"));
}

TEST_F(RequestLogTest, TextHasOneLineForEachEvent) {
  const auto log = Open(LogLevel::kWarning, false);
  log->Write(LogLevel::kError, "broken", {{"what", "two\nlines"}});
  log->Write(LogLevel::kInfo, "not shown", {});
  const auto lines = Lines(path_);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(" error broken what=\"two\\nlines\""), std::string::npos) << lines[0];
}

TEST_F(RequestLogTest, LinesOfSeveralThreadsStayWhole) {
  const auto log = Open(LogLevel::kInfo, true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&log, i] {
      for (int n = 0; n < 50; ++n) {
        log->Write(LogLevel::kInfo, "x", {{"text", std::string(300, static_cast<char>('a' + i))}});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = Lines(path_);
  EXPECT_EQ(lines.size(), 200u);
  for (const std::string& line : lines)
    EXPECT_FALSE(Json::parse(line, nullptr, false).is_discarded());
}

TEST(RequestLog, FullDisksAndBadFiles) {
  const auto full = RequestLog::Open({.file = "/dev/full"});
  ASSERT_TRUE(full.ok());
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) (*full)->Write(LogLevel::kInfo, "x", {});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  const auto bad = RequestLog::Open({.file = "/dev/null/log"});
  EXPECT_EQ(bad.status().code(), StatusCode::kIo);
  EXPECT_NE(bad.status().message().find("/dev/null/log"), std::string::npos);
}

}  // namespace
}  // namespace verbatim::serve
