// Constraints whose compilation only ends at a limit of memory or time. Not those that the crate's
// own limits end (grammar_limits_test.cc).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/text/small_vocabulary.h"
#include "text/grammar.h"

namespace verbatim {
namespace {

// Each such compilation costs the process what it had allocated, so that after some there is no
// further one, and no more memory lost.
TEST(GrammarTimeTest, IntersectionsWithoutEnd) {
  const std::vector<int32_t> eos = {text_test::kEndOfTurn};
  const auto compiler = *GrammarCompiler::Create(text_test::SmallVocabulary(), eos);
  auto before = compiler->Compile({.kind = ConstraintKind::kJsonObject});
  ASSERT_TRUE(before.ok());
  std::string text = "start: A\nA: ";
  for (int i = 2; i < 40; ++i) text += fmt::format("{}/(.*x){{{}}}.*/", i == 2 ? "" : " & ", i);
  int ended = 0;
  Status status;
  for (; ended < 8; ++ended) {
    const auto matcher = compiler->Compile({.kind = ConstraintKind::kGrammar, .text = text + "\n"});
    ASSERT_FALSE(matcher.ok());
    status = matcher.status();
    if (status.code() == StatusCode::kResourceExhausted) break;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("received more than "), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(" to compile it"), std::string::npos) << status.message();
  }
  EXPECT_GE(ended, 4);  // 1 GiB, at up to 256 MiB each
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("lost too much memory"), std::string::npos) << status.message();
  // What was compiled goes on.
  std::vector<uint32_t> mask(compiler->MaskWords());
  EXPECT_TRUE(before->ComputeMask(mask).ok());
}

}  // namespace
}  // namespace verbatim
