// MappedFile and FileWriter: content, every kind of refusal, and that nothing half-written stays
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file_writer.h"
#include "base/mapped_file.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("verbatim_files_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(FilesTest, WritesAndMapsBack) {
  auto writer = FileWriter::Create(folder_ / "a");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Write("hello ").ok());
  ASSERT_TRUE(writer->Write("world").ok());
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  ASSERT_TRUE(writer->Commit().ok());
  const auto text = ReadTextFile(folder_ / "a", 100);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "hello world");
}

TEST_F(FilesTest, AbandonedWriterLeavesNothing) {
  {
    auto writer = FileWriter::Create(folder_ / "a");
    ASSERT_TRUE(writer->Write("half").ok());
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FilesTest, UnwritableTargetIsAnError) {
  auto missing = FileWriter::Create(folder_ / "no" / "such" / "folder");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kIo);
}

TEST_F(FilesTest, DevicesAndPipesAreWrittenInPlace) {
  const fs::path null = folder_ / "null";
  fs::create_symlink("/dev/null", null);
  {
    auto writer = FileWriter::Create(null);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    EXPECT_TRUE(writer->Write("gone").ok());
    EXPECT_TRUE(writer->Commit().ok());
  }
  EXPECT_TRUE(fs::is_symlink(null));
  EXPECT_TRUE(fs::is_character_file(null));

  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = ReadTextFile(pipe, 100).value(); });
  {
    auto writer = FileWriter::Create(pipe);
    EXPECT_TRUE(writer.ok() && writer->Write("through").ok() && writer->Commit().ok());
  }
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(FilesTest, ASymlinkStaysAndItsTargetIsReplaced) {
  fs::create_directory(folder_ / "elsewhere");
  const fs::path target = folder_ / "elsewhere" / "real";
  std::ofstream(target) << "old";
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("elsewhere/real", folder_ / "link");
  auto writer = FileWriter::Create(folder_ / "link");
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  EXPECT_TRUE(writer->Write("new").ok());
  EXPECT_TRUE(writer->Commit().ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(*ReadTextFile(target, 100), "new");
  EXPECT_EQ(fs::status(target).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FilesTest, OtherKindsOfTargetsAreRefused) {
  fs::create_symlink("nothing", folder_ / "dangling");
  for (const auto& [path, kind] : {std::pair(folder_, "a directory"),
                                   std::pair(folder_ / "dangling", "a symlink to nothing")}) {
    const auto writer = FileWriter::Create(path);
    ASSERT_FALSE(writer.ok());
    EXPECT_EQ(writer.status().code(), StatusCode::kIo);
    EXPECT_THAT(writer.status().message(), HasSubstr(path.string()));
    EXPECT_THAT(writer.status().message(), HasSubstr(kind));
  }
}

TEST_F(FilesTest, TextComesFromPipesAndDevicesUpToTheLimit) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // A mapping refuses a pipe without waiting for its writer.
  EXPECT_EQ(MappedFile::Open(pipe).status().code(), StatusCode::kIo);
  std::thread writer([&] { std::ofstream(pipe) << std::string(200'000, 'x'); });
  const auto text = ReadTextFile(pipe, 200'000);
  writer.join();
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, std::string(200'000, 'x'));
  EXPECT_EQ(ReadTextFile("/dev/zero", 1000).status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(ReadTextFile(folder_, 1000).status().message(), HasSubstr("a directory"));
}

TEST_F(FilesTest, RefusalsNameTheFile) {
  const auto missing = MappedFile::Open(folder_ / "missing");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr("missing"));
  EXPECT_EQ(MappedFile::Open(folder_).status().code(), StatusCode::kIo);
  std::ofstream(folder_ / "long") << "0123456789";
  EXPECT_EQ(ReadTextFile(folder_ / "long", 9).status().code(), StatusCode::kCorrupt);
  std::ofstream(folder_ / "empty").flush();
  EXPECT_TRUE(MappedFile::Open(folder_ / "empty")->bytes().empty());
}

}  // namespace
}  // namespace verbatim
