// Constraints that are wrong, too large or made to explode: one clear error each, and nothing else
// suffers. Those that take long are in grammar_time_test.cc.
#include <fmt/format.h>

#include "tests/text/small_vocabulary.h"
#include "tests/text/text_test_support.h"
#include "text/grammar.h"

namespace verbatim {
namespace {

using text_test::kEndOfTurn;

std::shared_ptr<const GrammarCompiler> Compiler() {
  static const auto compiler = [] {
    const std::vector<int32_t> eos = {kEndOfTurn};
    return *GrammarCompiler::Create(text_test::SmallVocabulary(), eos);
  }();
  return compiler;
}

Status Refused(ConstraintKind kind, const std::string& text) {
  const auto matcher = Compiler()->Compile({.kind = kind, .text = text});
  if (matcher.ok()) return {};
  const std::string& message = matcher.status().message();
  EXPECT_EQ(matcher.status().code(), StatusCode::kInvalidArgument) << message;
  EXPECT_TRUE(message.starts_with(fmt::format("[constraint {}] ", ConstraintKindName(kind))));
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 1300u);
  return matcher.status();
}

void ExpectRefused(ConstraintKind kind, const std::string& text, const std::string& part) {
  const Status status = Refused(kind, text);
  EXPECT_FALSE(status.ok()) << text.substr(0, 100);
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

std::string Repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(GrammarErrorTest, Schemas) {
  const auto refused = [](const char* text, const char* part) {
    ExpectRefused(ConstraintKind::kJsonSchema, text, part);
  };
  refused("", "EOF while parsing");
  refused("{\"type\":", "line 1 column 8");
  refused("5", "schema must be an object or boolean");
  refused("{\"type\": \"strin\"}", "Invalid type: strin");
  refused("{\"not\": {\"type\": \"string\"}}", "not");
  refused("{\"type\": \"array\", \"uniqueItems\": true}", "uniqueItems");
  refused("{\"type\": \"string\", \"format\": \"frobnicate\"}", "frobnicate");
  refused("{\"type\": \"string\", \"pattern\": \"(a\"}", "unclosed group");
  refused("{\"$ref\": \"#/$defs/none\"}", "$defs");
  refused("{\"$ref\": \"other.json\"}", "other.json");
  refused("{\"oneOf\": [{\"type\": \"string\"}, {\"minLength\": 2}]}", "oneOf");
  refused("false", "");
  // The next layer parsed requests with nlohmann, which repairs nothing: this is the crate's view.
  ExpectRefused(ConstraintKind::kJsonSchema, "{\"a\": \"\xFF\"}", "UTF-8");
}

TEST(GrammarErrorTest, Regexes) {
  const auto refused = [](const char* text, const char* part) {
    ExpectRefused(ConstraintKind::kRegex, text, part);
  };
  refused("(a", "unclosed group");
  refused("(?=a)b", "look-around");
  refused("(a)\\1", "backreferences");
  refused("\\bfoo", "lookaround");
  refused("a^b", "lookaround");
  refused("[z-a]", "range");
}

TEST(GrammarErrorTest, Grammars) {
  const auto refused = [](const char* text, const char* part) {
    ExpectRefused(ConstraintKind::kGrammar, text, part);
  };
  refused("", "");
  refused("foo: \"x\"\n", "no start rule");
  refused("start: (\n", "1(9)");
  refused("start: foo\n", "foo");
  refused("start: <|nope|>\n", "unknown special token");
  refused("start: A\nA: A \"x\"\n", "circular");
  refused("start: %json {\"type\": 5}\n", "type");
  // What would make a text that cannot be taken back, or another way to choose tokens.
  refused("start: a\na[stop=\"x\"]: /.*/\n", "stop=");
  refused("start: a\na[max_tokens=3]: /.*/\n", "max_tokens=");
  refused("start: a\na[temperature=0.5]: /.*/\n", "temperature=");
}

TEST(GrammarErrorTest, NoConstraintIsNone) { ExpectRefused(ConstraintKind::kNone, "", "kind 0"); }

TEST(GrammarLimitsTest, TooLong) {
  const std::string text = "\"" + std::string(1 << 20, 'a') + "\"";
  ExpectRefused(ConstraintKind::kJsonSchema, text, "bytes, more than 1048576");
  ExpectRefused(ConstraintKind::kRegex, text, "bytes, more than 1048576");
  ExpectRefused(ConstraintKind::kGrammar, text, "bytes, more than 1048576");
}

TEST(GrammarLimitsTest, TooDeep) {
  ExpectRefused(ConstraintKind::kJsonSchema,
                Repeated("{\"items\":", 200) + "{}" + Repeated("}", 200), "recursion limit");
  ExpectRefused(ConstraintKind::kRegex, Repeated("(", 1000) + "a" + Repeated(")", 1000), "");
  ExpectRefused(ConstraintKind::kGrammar,
                "start: " + Repeated("(", 1000) + "\"a\"" + Repeated(")", 1000) + "\n",
                "too deeply nested");
  ExpectRefused(ConstraintKind::kGrammar, "start: " + Repeated("[", 60000) + "\n",
                "more than 50000 lines and groups");
}

// Recursion that ends in a stack, not in a crash.
TEST(GrammarLimitsTest, LongChains) {
  const auto chain = [](const char* name, int length, const char* end) {
    std::string text = fmt::format("start: {}0\n", name);
    for (int i = 0; i < length; ++i) text += fmt::format("{}{}:{}{}\n", name, i, name, i + 1);
    return text + fmt::format("{}{}: {}\n", name, length, end);
  };
  const auto rules =
      Compiler()->Compile({.kind = ConstraintKind::kGrammar, .text = chain("a", 49990, "\"x\"")});
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  const auto terminals =
      Compiler()->Compile({.kind = ConstraintKind::kGrammar, .text = chain("A", 49990, "\"x\"")});
  EXPECT_TRUE(terminals.ok()) << terminals.status().message();
  ExpectRefused(ConstraintKind::kGrammar, chain("a", 50000, "\"x\""), "more than 50000 lines");
  std::string schema = "{\"$ref\":\"#/$defs/a0\",\"$defs\":{";
  for (int i = 0; i < 20000; ++i) {
    schema += fmt::format("\"a{}\":{{\"allOf\":[{{\"$ref\":\"#/$defs/a{}\"}}]}},", i, i + 1);
  }
  ExpectRefused(ConstraintKind::kJsonSchema, schema + "\"a20000\":{}}}", "too large");
}

TEST(GrammarLimitsTest, LoopsOfReferences) {
  ExpectRefused(ConstraintKind::kJsonSchema,
                R"({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}, {"type": "object"}]},
                              "b": {"allOf": [{"$ref": "#/$defs/a"}, {"type": "object"}]}},
                    "$ref": "#/$defs/a"})",
                "circular");
  // A schema that only refers to itself has no texts: its first mask says so.
  for (const char* text : {R"({"$ref": "#"})", R"({"anyOf": [{"$ref": "#"}]})"}) {
    auto matcher = Compiler()->Compile({.kind = ConstraintKind::kJsonSchema, .text = text});
    if (!matcher.ok()) continue;
    std::vector<uint32_t> mask(Compiler()->MaskWords());
    EXPECT_FALSE(matcher->ComputeMask(mask).ok()) << text;
  }
}

TEST(GrammarLimitsTest, TooMuchWork) {
  std::string branches = "{\"allOf\": [";
  for (int i = 0; i < 25; ++i) {
    branches += fmt::format(
        "{}{{\"anyOf\": [{{\"type\": \"object\", \"properties\": {{\"a{}\": "
        "{{\"type\": \"string\"}}}}}}, {{\"type\": \"object\", \"properties\": "
        "{{\"b{}\": {{\"type\": \"number\"}}}}}}]}}",
        i == 0 ? "" : ",", i, i);
  }
  ExpectRefused(ConstraintKind::kJsonSchema, branches + "]}", "too large");
  std::string intersection = "start: A\nA: /.*x.*/";
  for (int i = 2; i < 12; ++i) intersection += fmt::format(" & /(.*x){{{}}}.*/", i);
  ExpectRefused(ConstraintKind::kGrammar, intersection + "\n", "");
  EXPECT_TRUE(
      Refused(ConstraintKind::kRegex, "((a{100}){100}){100}").ok());  // counts, does not copy
  EXPECT_TRUE(
      Refused(ConstraintKind::kJsonSchema, R"({"type": "array", "minItems": 1000000})").ok());
}

// An ambiguous grammar whose every row has more ways than the last: its step limit ends it, drafts
// behind the limit can be taken back, and a neighbour does not notice.
TEST(GrammarLimitsTest, AStepBeyondTheLimit) {
  const std::string text = "start: s\ns: s s | \"a\"\n";
  auto matcher = Compiler()->Compile({.kind = ConstraintKind::kGrammar, .text = text});
  ASSERT_TRUE(matcher.ok());
  auto neighbour = *matcher->Clone();
  const auto tokenizer = text_test::SmallVocabulary();
  const int32_t a = text_test::Cut(*tokenizer, "a").front();
  std::vector<uint32_t> mask(Compiler()->MaskWords());
  std::vector<uint32_t> before;
  Status status;
  int committed = 0;
  for (; committed < 5000; ++committed) {
    status = matcher->ComputeMask(mask);
    if (!status.ok()) break;
    before = mask;
    status = matcher->Commit(a);
    if (!status.ok()) break;
  }
  ASSERT_FALSE(status.ok()) << committed;
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  ASSERT_GT(committed, 10);
  ASSERT_TRUE(matcher->Rollback(5).ok());
  ASSERT_TRUE(matcher->ComputeMask(mask).ok());
  EXPECT_EQ(mask, before);
  ASSERT_TRUE(neighbour.Commit(a).ok());
  ASSERT_TRUE(neighbour.ComputeMask(mask).ok());
}

// What compiles gets on: a wide object is refused before anybody waits for its first row.
TEST(GrammarLimitsTest, WideObjects) {
  const auto schema = [](int optional, int required) {
    std::string properties, names;
    for (int i = 0; i < optional + required; ++i) {
      properties += fmt::format(R"({}"k{}": {{"type": "integer"}})", i == 0 ? "" : ", ", i);
      if (i < required) names += fmt::format(R"({}"k{}")", i == 0 ? "" : ", ", i);
    }
    return fmt::format(R"({{"type": "object", "properties": {{{}}}, "required": [{}]}})",
                       properties, names);
  };
  const auto tokenizer = text_test::SmallVocabulary();
  for (const auto& [optional, required] : {std::pair{120, 0}, {120, 300}, {0, 600}}) {
    auto matcher = Compiler()->Compile(
        {.kind = ConstraintKind::kJsonSchema, .text = schema(optional, required)});
    ASSERT_TRUE(matcher.ok()) << matcher.status().message();
    for (const int32_t id : text_test::Cut(*tokenizer, "{\"k0\": 1")) {
      const Status status = matcher->Commit(id);
      ASSERT_TRUE(status.ok()) << optional << ' ' << required << ' ' << status.message();
    }
  }
  const char* const expected = "an object with 121 optional properties, more than 120";
  ExpectRefused(ConstraintKind::kJsonSchema, schema(121, 5), expected);
  ExpectRefused(ConstraintKind::kJsonSchema,
                fmt::format(R"({{"anyOf": [{{"type": "array", "items": {}}}]}})", schema(121, 0)),
                expected);
  ExpectRefused(ConstraintKind::kGrammar,
                fmt::format("start: \"a\" x\nx: %json {}\n", schema(121, 0)), expected);
}

// Blanks end, so that a model cannot go on with them for ever.
TEST(GrammarLimitsTest, WhitespaceInJsonEnds) {
  const auto tokenizer = text_test::SmallVocabulary();
  const int32_t blank = text_test::Cut(*tokenizer, "\t").front();
  for (const ConstraintKind kind : {ConstraintKind::kJsonObject, ConstraintKind::kJsonSchema}) {
    auto matcher = Compiler()->Compile({.kind = kind, .text = "{\"type\": \"object\"}"});
    ASSERT_TRUE(matcher.ok());
    ASSERT_TRUE(matcher->Commit(text_test::Cut(*tokenizer, "{").front()).ok());
    int blanks = 0;
    while (matcher->Commit(blank).ok()) ++blanks;
    EXPECT_EQ(blanks, 65);
    EXPECT_TRUE(matcher->Commit(text_test::Cut(*tokenizer, "}").front()).ok());
  }
  // Unless the schema says otherwise.
  auto dense = Compiler()->Compile(
      {.kind = ConstraintKind::kJsonSchema,
       .text = R"({"type": "object", "x-guidance": {"whitespace_flexible": false}})"});
  ASSERT_TRUE(dense.ok());
  ASSERT_TRUE(dense->Commit(text_test::Cut(*tokenizer, "{").front()).ok());
  EXPECT_FALSE(dense->Commit(blank).ok());
}

}  // namespace
}  // namespace verbatim
