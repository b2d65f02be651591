// Any bytes as a body: one JSON value within its limits, or an error.
#include <fmt/format.h>

#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

using ::testing::HasSubstr;

void ExpectBadBody(std::string_view text, std::string_view part) {
  const auto parsed = ParseBody(text, TestLimits());
  ASSERT_TRUE(std::holds_alternative<ApiError>(parsed)) << text.substr(0, 100);
  const auto& error = std::get<ApiError>(parsed);
  EXPECT_EQ(error.status, 400);
  EXPECT_LT(error.message.size(), 400);
  EXPECT_THAT(error.message, HasSubstr("[body] expected "));
  EXPECT_THAT(error.message, HasSubstr(std::string(part)));
}

TEST(Body, KeepsTheOrderOfKeysAndTheLastOfEqualOnes) {
  const auto parsed = ParseBody(R"({"b": 1, "a": [true, null, -2, 0.5], "b": "x"})", TestLimits());
  ASSERT_TRUE(std::holds_alternative<Json>(parsed));
  EXPECT_EQ(std::get<Json>(parsed).dump(), R"({"b":"x","a":[true,null,-2,0.5]})");
}

TEST(Body, ReadsWhatNlohmannReads) {
  for (const char* text :
       {"0", "\"\\u00e9\\ud83d\\ude00\"", "[[],{},[{}]]", R"({"a":{"b":{"c":[1,{"d":2}]}},"e":3})",
        "18446744073709551615", "-9223372036854775808", "1e300", "99999999999999999999999"}) {
    const auto parsed = ParseBody(text, TestLimits());
    ASSERT_TRUE(std::holds_alternative<Json>(parsed)) << text;
    EXPECT_EQ(std::get<Json>(parsed), Json::parse(text));
  }
}

TEST(Body, RefusesWhatIsNotOneJsonValue) {
  for (const char* text : {"", " ", "{", "{\"a\"}", "[1,]", "{} {}", "nul", "'a'", "{a: 1}", "[01]",
                           "\"\n\"", "[NaN]", "[Infinity]", "[1e999]", "\"\\ud800\"", "// x\n1"}) {
    ExpectBadBody(text, "valid JSON");
  }
}

TEST(Body, RefusesInvalidUtf8) {
  for (const char* text : {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\xfe"}) {
    ExpectBadBody(text, "valid JSON");
  }
}

TEST(Body, LimitsDepth) {
  ApiLimits limits = TestLimits();
  const auto nested = [](int depth) {
    std::string text(depth, '[');
    text.append(depth, ']');
    return text;
  };
  EXPECT_TRUE(std::holds_alternative<Json>(ParseBody(nested(limits.max_json_depth), limits)));
  ExpectBadBody(nested(limits.max_json_depth + 1), "nested");
  ExpectBadBody(std::string(5'000'000, '['), "nested");
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  ExpectBadBody(objects, "nested");
}

TEST(Body, LimitsValues) {
  std::string text = "[0";
  for (int i = 0; i < (1 << 21); ++i) text += ",0";
  ExpectBadBody(text + "]", "values");
}

TEST(Body, LimitsTheTimeThatKeysTake) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("\"{}\":0,", i);
  ExpectBadBody(text + "\"a\":0}", "keys");
}

TEST(Body, AFaultInALongTextHasAShortMessage) {
  ExpectBadBody("\"" + std::string(1'000'000, 'a') + "\x01\"", "valid JSON");
}

}  // namespace
}  // namespace verbatim::serve::testing
