// Lines that libedit cuts, made whole again.
#include "apps/verbatim/saved_lines.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

std::wstring Damaged(std::wstring line) {
  std::fill(line.begin() + SavedLines::kCopied, line.end(), L'\0');
  return line;
}

TEST(SavedLinesTest, RepairsWhatItKept) {
  const std::wstring line = std::wstring(SavedLines::kCopied, L'x') + L"tail";
  SavedLines saved;
  saved.Keep(line);
  std::wstring damaged = Damaged(line);
  saved.Keep(damaged);  // not a line to keep
  EXPECT_TRUE(saved.Repair(damaged));
  EXPECT_EQ(damaged, line);
  EXPECT_FALSE(saved.Repair(damaged));  // whole already
  std::wstring longer = Damaged(line + L"!");
  EXPECT_FALSE(saved.Repair(longer));
  std::wstring other = Damaged(std::wstring(SavedLines::kCopied, L'y') + L"tail");
  EXPECT_FALSE(saved.Repair(other));
  saved.Clear();
  damaged = Damaged(line);
  EXPECT_FALSE(saved.Repair(damaged));
}

TEST(SavedLinesTest, TheTypedLineStaysHoweverManyEntriesAreShown) {
  SavedLines saved;
  const std::wstring typed(SavedLines::kCopied + 1, L'x');
  saved.Keep(typed);
  for (size_t i = 0; i < 100; ++i) saved.Keep(std::wstring(SavedLines::kCopied + 1 + i, L'y'));
  std::wstring damaged = Damaged(typed);
  EXPECT_TRUE(saved.Repair(damaged));
  EXPECT_EQ(damaged, typed);
}

TEST(SavedLinesTest, ShortLinesAreNoneOfIts) {
  SavedLines saved;
  std::wstring line(SavedLines::kCopied, L'x');
  saved.Keep(line);
  EXPECT_FALSE(saved.Repair(line));
  std::wstring empty;
  EXPECT_FALSE(saved.Repair(empty));
}

}  // namespace
}  // namespace verbatim::cli
