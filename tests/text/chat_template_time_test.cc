// The time that a template may take, waited for. Not the other limits (chat_template_test.cc).
#include <gtest/gtest.h>

#include "text/chat_template.h"

namespace verbatim {
namespace {

void ExpectTooLong(const Status& status) {
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("received more than 30 seconds"), std::string::npos)
      << status.message();
}

// One instruction that compares for hours and allocates nothing.
TEST(ChatTemplateTimeTest, OneInstructionWithoutEnd) {
  const auto loaded =
      ChatTemplate::FromSource("{{ 2 in [messages] * 999999999999 }}", nullptr, "hostile");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ExpectTooLong(loaded->Render({{{"role", "user"}, {"content", "x"}}}, {}).status());
}

// The same of constants, which minijinja computes when it compiles.
TEST(ChatTemplateTimeTest, OneConstantWithoutEnd) {
  ExpectTooLong(
      ChatTemplate::FromSource("{{ 2 in [1] * 999999999999 }}", nullptr, "hostile").status());
}

}  // namespace
}  // namespace verbatim
