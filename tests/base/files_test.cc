// MappedFile and FileWriter: content, every kind of refusal, and that nothing half-written stays
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
