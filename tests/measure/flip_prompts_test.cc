// The default prompts are complete, and files of prompts in either format. Not their tokens.
#include "measure/flip_prompts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace verbatim {
namespace {

TEST(DefaultFlipPromptsTest, HaveEveryCategory) {
  std::map<std::string, int> counts;
  for (const FlipPrompt& prompt : DefaultFlipPrompts()) {
    ++counts[prompt.category];
    EXPECT_GE(prompt.text.size(), 200u) << prompt.text;
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"code", 4},
                                                {"dialogue", 4},
                                                {"json", 4},
                                                {"lists", 4},
                                                {"mathematics", 4},
                                                {"multilingual", 4},
                                                {"prose", 4}}));
}

TEST(ParseFlipPromptsTest, PlainText) {
  const auto one = ParseFlipPrompts("one\ntext\n", "f");
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ((*one)[0].text, "one\ntext");
  EXPECT_EQ((*one)[0].category, "");

  const auto several = ParseFlipPrompts("--- a b\r\nfirst\n\n---\n second\n", "f");
  ASSERT_TRUE(several.ok());
  ASSERT_EQ(several->size(), 2u);
  EXPECT_EQ((*several)[0].category, "a b");
  EXPECT_EQ((*several)[0].text, "first");
  EXPECT_EQ((*several)[1].category, "");
  EXPECT_EQ((*several)[1].text, " second");
}

TEST(ParseFlipPromptsTest, JsonLines) {
  const auto prompts = ParseFlipPrompts(
      "{\"text\": \"a\", \"category\": \"x\"}\n\n{\"prompt\": \"b\"}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"c\"}]}\n",
      "f");
  ASSERT_TRUE(prompts.ok()) << prompts.status().message();
  ASSERT_EQ(prompts->size(), 3u);
  EXPECT_EQ((*prompts)[0].category, "x");
  EXPECT_EQ((*prompts)[1].text, "b");
  EXPECT_EQ((*prompts)[2].text, "c");
  EXPECT_EQ((*prompts)[2].messages_json, R"([{"content":"c","role":"user"}])");
}

TEST(ParseFlipPromptsTest, RefusesWhatHoldsNoPrompt) {
  for (const char* text :
       {"", "\n \n", "---\n---\nx\n", "---\n", "{\"text\": \"\"}\n", "{\"text\": 3}\n", "{broken\n",
        "{}\n", "{\"messages\": []}\n", "{\"messages\": [1]}\n", "{\"text\": \"a\"}\n[1]\n"}) {
    const auto prompts = ParseFlipPrompts(text, "file.txt");
    ASSERT_FALSE(prompts.ok()) << text;
    EXPECT_EQ(prompts.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(prompts.status().message().find("file.txt"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace verbatim
