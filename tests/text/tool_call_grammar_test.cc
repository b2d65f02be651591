// ToolCallGrammar: its texts are calls that AnswerParser reads, with arguments that fit the tools'
// schemas. Not llguidance's JSON schemas (grammar_test.cc).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/sample_size.h"
#include "tests/text/answer_test_support.h"
#include "tests/text/small_vocabulary.h"
#include "tests/text/text_test_support.h"
#include "text/answer_parser.h"
#include "text/grammar.h"

namespace verbatim {
namespace {

using nlohmann::ordered_json;
using testing::Sampled;
using text_test::IsSet;
using text_test::kEndOfTurn;
using Kind = AnswerDelta::Kind;

const std::shared_ptr<const Tokenizer>& Vocabulary() {
  static const auto tokenizer = text_test::SmallVocabulary();
  return tokenizer;
}

GrammarMatcher Matcher(const ordered_json& tools, std::string_view only = {}, bool several = true) {
  static const auto compiler = *GrammarCompiler::Create(Vocabulary(), std::vector{kEndOfTurn});
  const auto text = ToolCallGrammar(AnswerFormat::kQwen35, tools, only, several);
  EXPECT_TRUE(text.ok()) << text.status().message();
  auto matcher = compiler->Compile({.kind = ConstraintKind::kGrammar, .text = *text});
  EXPECT_TRUE(matcher.ok()) << matcher.status().message() << "\n" << *text;
  return *std::move(matcher);
}

bool Accepts(const GrammarMatcher& matcher, const std::string& text) {
  auto copy = *matcher.Clone();
  for (const int32_t id : text_test::Cut(*Vocabulary(), text)) {
    if (!copy.Commit(id).ok()) return false;
  }
  return copy.may_end();
}

std::string WeatherCall(const std::string& body) {
  return "<tool_call>\n<function=get_weather>\n" + body + "</function>\n</tool_call>";
}

std::string Parameter(const std::string& name, const std::string& value) {
  return "<parameter=" + name + ">\n" + value + "\n</parameter>\n";
}

const std::string kNow = "<tool_call>\n<function=now>\n</function>\n</tool_call>";

TEST(ToolCallGrammarTest, CallsAndWhatIsNone) {
  const GrammarMatcher matcher = Matcher(text_test::Tools());
  const std::string city = Parameter("city", "hello");
  EXPECT_TRUE(Accepts(matcher, kNow));
  EXPECT_TRUE(Accepts(matcher, "\n\n" + kNow + "\n" + kNow));
  EXPECT_TRUE(Accepts(matcher, WeatherCall(city)));
  EXPECT_TRUE(
      Accepts(matcher, WeatherCall(city + Parameter("days", "12") + Parameter("unit", "F"))));
  EXPECT_TRUE(Accepts(matcher, WeatherCall(city) + "\n" + kNow));
  EXPECT_FALSE(Accepts(matcher, ""));
  EXPECT_FALSE(Accepts(matcher, "hello\n" + kNow));
  EXPECT_FALSE(Accepts(matcher, kNow + "\n"));
  EXPECT_FALSE(Accepts(matcher, "<tool_call>\n<function=other>\n</function>\n</tool_call>"));
  EXPECT_FALSE(Accepts(matcher, WeatherCall("")));  // city is required
  EXPECT_FALSE(Accepts(matcher, WeatherCall(Parameter("days", "12"))));
  EXPECT_FALSE(Accepts(matcher, WeatherCall(city + city)));
  EXPECT_FALSE(Accepts(matcher, WeatherCall(city + Parameter("other", "12"))));
}

TEST(ToolCallGrammarTest, ValuesFitTheirSchemas) {
  const GrammarMatcher matcher = Matcher(text_test::Tools());
  const auto accepts = [&](const std::string& name, const std::string& value) {
    const std::string city = name == "city" ? "" : Parameter("city", "a");
    return Accepts(matcher, WeatherCall(city + Parameter(name, value)));
  };
  for (const char* text :
       {"", "a", "\n", "<", "</", "</para", "</parameter ", "a\n\nb <b></b>", "12",
        "<parameter=city>", "</function>", "</tool_call>", "\xE2\x82\xAC"}) {
    EXPECT_TRUE(accepts("city", text)) << text;
  }
  EXPECT_FALSE(accepts("city", "a</parameter>b"));
  EXPECT_FALSE(accepts("city", "</parameter>"));
  EXPECT_TRUE(accepts("days", "14"));
  EXPECT_FALSE(accepts("days", "15"));
  EXPECT_FALSE(accepts("days", "1.5"));
  EXPECT_FALSE(accepts("days", "\"1\""));
  EXPECT_TRUE(accepts("metric", "true"));
  EXPECT_FALSE(accepts("metric", "True"));
  EXPECT_TRUE(accepts("unit", "C"));
  EXPECT_FALSE(accepts("unit", "K"));
  EXPECT_FALSE(accepts("unit", "\"C\""));
  EXPECT_TRUE(accepts("limits", "{\"low\": 1.5}"));
  EXPECT_FALSE(accepts("limits", "{\"low\": \"1.5\"}"));
  EXPECT_TRUE(accepts("tags", "[\"a\", \"b\"]"));
  EXPECT_FALSE(accepts("tags", "[1]"));
  EXPECT_TRUE(accepts("note", "null"));
  EXPECT_TRUE(accepts("note", "hello"));
  EXPECT_TRUE(accepts("any", "hello"));
}

TEST(ToolCallGrammarTest, ConditionsOfStrings) {
  const auto accepts = [](const char* schema, const std::string& value) {
    const ordered_json tools = {
        {{"name", "now"},
         {"parameters",
          {{"type", "object"}, {"properties", {{"x", ordered_json::parse(schema)}}}}}}};
    return Accepts(Matcher(tools), "<tool_call>\n<function=now>\n" + Parameter("x", value) +
                                       "</function>\n</tool_call>");
  };
  const char* length = R"({"type": "string", "minLength": 2, "maxLength": 3})";
  EXPECT_FALSE(accepts(length, "a"));
  EXPECT_TRUE(accepts(length, "ab"));
  EXPECT_TRUE(accepts(length,
                      "\xE2\x82\xAC\xC3\xA4"
                      "a"));
  EXPECT_FALSE(accepts(length, "abcd"));
  const char* pattern = R"({"type": "string", "pattern": "^\\d+/[a-c]$"})";
  EXPECT_TRUE(accepts(pattern, "12/b"));
  EXPECT_FALSE(accepts(pattern, "12/bb"));
  EXPECT_FALSE(accepts(pattern, "x12/b"));
  const char* within = R"({"type": "string", "pattern": "ab"})";
  EXPECT_TRUE(accepts(within, "x ab\ny"));
  EXPECT_FALSE(accepts(within, "x a\ny"));
  EXPECT_TRUE(accepts(R"({"const": "ab c"})", "ab c"));
  EXPECT_FALSE(accepts(R"({"const": "ab c"})", "ab"));
  EXPECT_TRUE(accepts(R"({"enum": ["a", 12, null]})", "12"));
  EXPECT_FALSE(accepts(R"({"enum": ["a", 12, null]})", "b"));
}

TEST(ToolCallGrammarTest, BlanksInsideOfJsonEnd) {
  const ordered_json tools = ordered_json::parse(R"([{"type": "function", "function": {"name": "f",
      "parameters": {"type": "object", "properties": {
          "o": {"type": "object", "properties": {"n": {"type": "integer"}}},
          "l": {"type": "array", "items": {"type": "boolean"}}}}}}])");
  const GrammarMatcher matcher = Matcher(tools);
  const auto call = [](const std::string& name, const std::string& value) {
    return "<tool_call>\n<function=f>\n" + Parameter(name, value) + "</function>\n</tool_call>";
  };
  for (const size_t blanks : {0, 1, 65}) {
    const std::string blank(blanks, ' ');
    EXPECT_TRUE(Accepts(matcher, call("o", "{" + blank + "\"n\":" + blank + "1}"))) << blanks;
    EXPECT_TRUE(Accepts(matcher, call("l", "[" + blank + "true" + blank + "]"))) << blanks;
  }
  const std::string blank(66, '\n');
  EXPECT_FALSE(Accepts(matcher, call("o", "{" + blank + "\"n\":1}")));
  EXPECT_FALSE(Accepts(matcher, call("l", "[" + blank + "true]")));
}

TEST(ToolCallGrammarTest, OneToolAndOneCall) {
  EXPECT_TRUE(Accepts(Matcher(text_test::Tools(), "now"), kNow));
  EXPECT_FALSE(Accepts(Matcher(text_test::Tools(), "now"), WeatherCall(Parameter("city", "a"))));
  EXPECT_TRUE(Accepts(Matcher(text_test::Tools(), {}, /*several=*/false), kNow));
  EXPECT_FALSE(Accepts(Matcher(text_test::Tools(), {}, /*several=*/false), kNow + "\n" + kNow));
}

TEST(ToolCallGrammarTest, Errors) {
  const auto error = [](const ordered_json& tools, std::string_view only) {
    const auto text = ToolCallGrammar(AnswerFormat::kQwen35, tools, only, true);
    EXPECT_FALSE(text.ok());
    EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument);
    return text.status().message();
  };
  EXPECT_EQ(error(text_test::Tools(), "other"),
            "[tools] expected a function 'other', received other names");
  EXPECT_EQ(error(ordered_json::array(), ""),
            "[tools] expected at least one function, received none");
  EXPECT_EQ(error(nullptr, ""), "[tools] expected at least one function, received none");
  EXPECT_NE(error({{{"name", "a>b"}}}, "").find("[tool a>b]"), std::string::npos);
  EXPECT_NE(error({{{"name", "f"}, {"parameters", {{"properties", {{"a\nb", {}}}}}}}}, "")
                .find("[tool f]"),
            std::string::npos);
}

// Random texts of the grammar, read back.
TEST(ToolCallGrammarTest, TextsAreCallsThatFit) {
  const GrammarMatcher matcher = Matcher(text_test::Tools());
  AnswerParserOptions options;
  options.tools = text_test::Tools();
  int ended = 0;
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(200, 20); ++seed) {
    text_test::Random random(seed);
    auto walk = *matcher.Clone();
    std::string text;
    std::vector<uint32_t> mask((static_cast<size_t>(Vocabulary()->vocab_size()) + 31) / 32);
    for (int step = 0; step < 400 && !walk.may_end(); ++step) {
      ASSERT_TRUE(walk.ComputeMask(mask).ok());
      std::vector<int32_t> allowed;
      std::vector<int32_t> closing;  // lest every text go on
      for (int32_t id = 0; id < Vocabulary()->vocab_size(); ++id) {
        if (!IsSet(mask, id)) continue;
        allowed.push_back(id);
        const std::string_view bytes = *Vocabulary()->TokenBytes(id);
        if (bytes.starts_with("\n</") || bytes.starts_with("</") || bytes == "para" ||
            bytes == "meter" || bytes.starts_with('"') || bytes.starts_with('}') ||
            bytes.starts_with(']')) {
          closing.push_back(id);
        }
      }
      ASSERT_FALSE(allowed.empty()) << text;
      const auto& from = !closing.empty() && random.Below(3) != 0 ? closing : allowed;
      const int32_t id = from[random.Below(from.size())];
      ASSERT_TRUE(walk.Commit(id).ok());
      text += *Vocabulary()->TokenBytes(id);
    }
    if (!walk.may_end()) continue;
    ++ended;
    SCOPED_TRACE(text);
    const auto deltas = text_test::Parse(options, text);
    ASSERT_EQ(text_test::TextOf(deltas, Kind::kContent), "");
    ASSERT_EQ(text_test::TextOf(deltas, Kind::kReasoning), "");
    const std::string name = text_test::TextOf(deltas, Kind::kToolCall);
    const auto arguments = ordered_json::parse(text_test::TextOf(deltas, Kind::kToolCallArguments),
                                               nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(arguments.is_object());
    if (name != "get_weather") continue;
    ASSERT_TRUE(arguments.contains("city") && arguments["city"].is_string());
    for (const auto& [key, value] : arguments.items()) {
      if (key == "days") {
        ASSERT_TRUE(value.is_number_integer() && value <= 14 && value >= 1);
      }
      if (key == "metric") {
        ASSERT_TRUE(value.is_boolean());
      }
      if (key == "unit") {
        ASSERT_TRUE(value == "C" || value == "F");
      }
      if (key == "limits") {
        ASSERT_TRUE(value.is_object());
      }
      if (key == "tags") {
        ASSERT_TRUE(value.is_array());
      }
      if (key == "note") {
        ASSERT_TRUE(value.is_string() || value.is_null());
      }
    }
  }
  EXPECT_GE(ended, Sampled(20, 1));
}

}  // namespace
}  // namespace verbatim
