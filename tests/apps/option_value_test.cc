// Values: whole numbers, words, paths, and the sentence for each fault.
#include "apps/verbatim/option_value.h"

#include <gtest/gtest.h>

#include <limits>

namespace verbatim::cli {
namespace {

const OptionSpec& Option(std::string_view name) {
  for (const OptionSpec& option : AllOptions()) {
    if (option.name == name) return option;
  }
  ADD_FAILURE() << name;
  return AllOptions().front();
}

Expected<OptionValue> Parse(std::string_view name, std::string_view text) {
  const OptionSpec& option = Option(name);
  return ParseOptionValue(option, text, SpecOf(option.verbs.front()));
}

TEST(ParseIntegerTest, TakesTheWholeTextOrNothing) {
  int64_t value = 0;
  EXPECT_TRUE(ParseInteger("0", &value));
  EXPECT_TRUE(ParseInteger("-7", &value));
  EXPECT_EQ(value, -7);
  EXPECT_TRUE(ParseInteger("9223372036854775807", &value));
  EXPECT_EQ(value, std::numeric_limits<int64_t>::max());
  for (std::string_view bad :
       {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "1k", "-", "--1", "9223372036854775808", "٣"}) {
    EXPECT_FALSE(ParseInteger(bad, &value)) << bad;
  }
}

TEST(OptionValueTest, NumberInRangeAndWord) {
  EXPECT_EQ(Parse("draft-tokens", "15")->number, 15);
  EXPECT_EQ(Parse("draft-tokens", "auto")->text, "auto");
  EXPECT_EQ(Parse("prefill-chunk", "0")->number, 0);
  EXPECT_EQ(Parse("prefill-chunk", "whole")->number, 0);
}

TEST(OptionValueTest, OutOfRangeSaysTheRange) {
  const auto value = Parse("draft-tokens", "99");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(value.status().message(),
            "[--draft-tokens] expected 1 to 15 or auto, received 99; try --draft-tokens 3");
  EXPECT_FALSE(Parse("draft-tokens", "0").ok());
  EXPECT_FALSE(Parse("draft-tokens", "16").ok());
}

TEST(OptionValueTest, OnlyTheListedNumbers) {
  EXPECT_TRUE(Parse("bits", "6").ok());
  const auto value = Parse("bits", "7");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().message(),
            "[--bits] expected 2, 3, 4, 5, 6 or 8, received 7; try --bits 4");
}

TEST(OptionValueTest, LlamaCppNamesOfDrafters) {
  EXPECT_EQ(Parse("spec", "draft-mtp")->text, "mtp");
  EXPECT_EQ(Parse("spec", "ngram-simple")->text, "ngram");
  EXPECT_EQ(Parse("spec", "none")->text, "off");
  EXPECT_FALSE(Parse("spec", "draft-eagle3").ok());
}

TEST(OptionValueTest, WordWithPath) {
  const auto value = Parse("spec", "replay:a:b.txt");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->text, "replay");
  EXPECT_EQ(value->path, "a:b.txt");
  EXPECT_FALSE(Parse("spec", "replay").ok());
  EXPECT_FALSE(Parse("spec", "replay:").ok());
  EXPECT_FALSE(Parse("spec", "mtp:x").ok());
}

TEST(OptionValueTest, EmptyTextIsForPromptsOnly) {
  EXPECT_TRUE(Parse("prompt", "").ok());
  EXPECT_FALSE(Parse("stop", "").ok());
  EXPECT_FALSE(Parse("model", "").ok());
  EXPECT_FALSE(Parse("kv-type", "").ok());
}

TEST(OptionValueTest, MessagesStayOnOneShortLine) {
  const auto value = Parse("kv-type", "a\nb" + std::string(500, 'x'));
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().message().find('\n'), std::string::npos);
  EXPECT_LT(value.status().message().size(), 200u);
}

}  // namespace
}  // namespace verbatim::cli
