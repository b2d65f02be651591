// GrammarMatcher against brute force: a token's bit is set if, and only if, a copy accepts it. Not
// the limits (grammar_limits_test.cc).
#include "text/grammar.h"

#include <regex>
#include <thread>

#include "support/sample_size.h"
#include "tests/text/small_vocabulary.h"
#include "tests/text/text_test_support.h"

namespace verbatim {
namespace {

using testing::Sampled;
using text_test::Cut;
using text_test::IsSet;
using text_test::kEndOfText;
using text_test::kEndOfTurn;
using text_test::kOtherSpecial;
using Mask = std::vector<uint32_t>;

const std::shared_ptr<const Tokenizer>& Vocabulary() {
  static const auto tokenizer = text_test::SmallVocabulary();
  return tokenizer;
}

std::shared_ptr<const GrammarCompiler> Compiler(std::vector<int32_t> eos = {kEndOfText,
                                                                            kEndOfTurn}) {
  auto compiler = GrammarCompiler::Create(Vocabulary(), eos);
  VERBATIM_CHECK(compiler.ok());
  return *compiler;
}

GrammarMatcher Compile(const GrammarCompiler& compiler, ConstraintKind kind,
                       const std::string& text) {
  auto matcher = compiler.Compile({.kind = kind, .text = text});
  EXPECT_TRUE(matcher.ok()) << matcher.status().message();
  return *std::move(matcher);
}

Mask MaskOf(GrammarMatcher& matcher) {
  Mask mask((static_cast<size_t>(Vocabulary()->vocab_size()) + 31) / 32, ~0u);
  const Status status = matcher.ComputeMask(mask);
  EXPECT_TRUE(status.ok()) << status.message();
  return mask;
}

std::vector<int32_t> Allowed(const Mask& mask) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < static_cast<int32_t>(mask.size()) * 32; ++id) {
    if (IsSet(mask, id)) ids.push_back(id);
  }
  return ids;
}

bool IsEos(int32_t id) { return id == kEndOfText || id == kEndOfTurn; }

// Whether the whole of `text` is one that the matcher's grammar has.
bool Accepts(GrammarMatcher matcher, const std::string& text) {
  for (const int32_t id : Cut(*Vocabulary(), text)) {
    if (!matcher.Commit(id).ok()) return false;
  }
  return matcher.may_end();
}

struct Case {
  const char* name;
  ConstraintKind kind;
  const char* text;
  std::vector<const char*> accepted;
  std::vector<const char*> refused;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"JsonObject",
       ConstraintKind::kJsonObject,
       "",
       {"{}", "{\"a\": [1, 2.5e+3, true, null, {\"b\": \"\xC3\xA4\\n\"}]}", "{\n  \"a\": -0\n}"},
       {"", "[]", "1", " {}", "{} ", "{\"a\": 01}", "{'a': 1}", "{\"a\": 1,}", "{\"a\": \"\n\"}"}},
      {"Schema",
       ConstraintKind::kJsonSchema,
       R"({"type": "object", "additionalProperties": false, "required": ["name", "age"],
           "properties": {"name": {"type": "string", "maxLength": 5},
                          "age": {"type": "integer", "minimum": 0, "maximum": 150},
                          "kind": {"enum": ["ab", "abc", null]}}})",
       {"{\"name\": \"hello\", \"age\": 12}", "{\"name\":\"\",\"age\":150,\"kind\":\"abc\"}",
        "{\"name\": \"\xE2\x82\xAC\", \"age\": 0, \"kind\": null}"},
       {"{}", "{\"name\": \"hello\"}", "{\"name\": \"hello!\", \"age\": 1}",
        "{\"name\": \"a\", \"age\": 151}", "{\"name\": \"a\", \"age\": 1, \"kind\": \"a\"}",
        "{\"name\": \"a\", \"age\": 1.5}", "{\"name\": \"a\", \"age\": 1, \"x\": 1}"}},
      {"SchemaTree",
       ConstraintKind::kJsonSchema,
       R"({"$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 2}},
           "$ref": "#/$defs/t"})",
       {"[]", "[[], [[[]]]]"},
       {"[1]", "[[], [], []]", "[[]"}},
      {"Regex",
       ConstraintKind::kRegex,
       "^(ab|ba)+[0-9]{2,4}(\xE2\x82\xAC|\xC3\xA4)?$",
       {"ab12", "abba1990", "ba12\xC3\xA4", "ba12\xE2\x82\xAC"},
       {"", "ab", "ab1", "ab12345", "abb12", "12", " ab12", "ab12\n"}},
      {"RegexAnchored", ConstraintKind::kRegex, "^a$|^b{2}$", {"a", "bb"}, {"", "b", "ab", "a\n"}},
      // The crate has a meaning of its own for a group of this name.
      {"RegexStopGroup",
       ConstraintKind::kRegex,
       "[ab]*(?P<stop>12)(aa)?",
       {"ab12", "12aa"},
       {"ab", "ab12a"}},
      {"RegexAny", ConstraintKind::kRegex, "(?s:.*)", {"", "hello\n world", "<|other|>"}, {}},
      {"Lark",
       ConstraintKind::kGrammar,
       "start: sum\nsum: product (\"+\" product)*\nproduct: atom (\"*\" atom)*\n"
       "atom: NUMBER | \"(\" sum \")\"\nNUMBER: /[0-9]+/\n%ignore \" \"\n",
       {"12", "12+3*(5 + 12)", "((1))"},
       {"", "+", "12+", "(1", "1 2", "1))"}},
      {"LarkAmbiguous",
       ConstraintKind::kGrammar,
       "start: s\ns: s s | \"a\" | \"ab\" | \"b\"\n",
       {"a", "abab", "bbb"},
       {"", "c", "abc"}},
      {"LarkNested",
       ConstraintKind::kGrammar,
       "start: \"<tool_call>\" body \"</tool_call>\"\n"
       "body: %json {\"type\": \"array\", \"items\": {\"type\": \"boolean\"}}\n",
       {"<tool_call>[true, false]</tool_call>", "<tool_call>[]</tool_call>"},
       {"<tool_call>[1]</tool_call>", "<tool_call>[true]"}},
      {"LarkSuffix",
       ConstraintKind::kGrammar,
       "start: a \"hello\"\na[suffix=\"ab\"]: /[a-z ]*/\n",
       {"abhello", "ba abhello", "aabhello"},
       {"hello", "ab", "abab", "ababhello"}},
  };
  return cases;
}

class GrammarTest : public ::testing::TestWithParam<size_t> {
 protected:
  const Case& Param() const { return Cases()[GetParam()]; }
  GrammarMatcher Matcher() const { return Compile(*compiler_, Param().kind, Param().text); }
  std::shared_ptr<const GrammarCompiler> compiler_ = Compiler();
};

TEST_P(GrammarTest, AcceptsAndRefuses) {
  for (const char* text : Param().accepted) {
    EXPECT_TRUE(Accepts(Matcher(), text)) << text;
  }
  for (const char* text : Param().refused) EXPECT_FALSE(Accepts(Matcher(), text)) << text;
}

// Every mask on random ways, token by token, and the rules about ends.
TEST_P(GrammarTest, MasksEqualBruteForce) {
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(6, 1); ++seed) {
    text_test::Random random(seed);
    GrammarMatcher matcher = Matcher();
    for (int step = 0; step < 25; ++step) {
      const Mask mask = MaskOf(matcher);
      auto copy = matcher.Clone();
      ASSERT_TRUE(copy.ok());
      for (int32_t id = 0; id < static_cast<int32_t>(mask.size()) * 32; ++id) {
        const bool accepted = copy->Commit(id).ok();
        ASSERT_EQ(accepted, IsSet(mask, id)) << id << " at step " << step << " of seed " << seed;
        if (accepted) {
          ASSERT_TRUE(copy->Rollback(1).ok());
        }
      }
      EXPECT_EQ(MaskOf(matcher), mask);
      EXPECT_EQ(IsSet(mask, kEndOfText), matcher.may_end());
      EXPECT_EQ(IsSet(mask, kEndOfTurn), matcher.may_end());
      EXPECT_FALSE(IsSet(mask, kOtherSpecial));
      const std::vector<int32_t> allowed = Allowed(mask);
      if (matcher.must_end()) {
        EXPECT_EQ(allowed.size(), 2u);
      }
      ASSERT_FALSE(allowed.empty());
      const int32_t id = allowed[random.Below(allowed.size())];
      ASSERT_TRUE(matcher.Commit(id).ok());
      if (IsEos(id)) break;
    }
  }
}

// Forth and back at random: each mask is that of a matcher that never went further.
TEST_P(GrammarTest, RollbackIsAsIfNeverCommitted) {
  const GrammarMatcher start = Matcher();
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(20, 3); ++seed) {
    text_test::Random random(seed);
    GrammarMatcher matcher = *start.Clone();
    std::vector<int32_t> ids;
    for (int step = 0; step < 40; ++step) {
      const std::vector<int32_t> allowed = Allowed(MaskOf(matcher));
      if (ids.empty() || (random.Below(3) != 0 && !IsEos(ids.back()))) {
        ids.push_back(allowed[random.Below(allowed.size())]);
        ASSERT_TRUE(matcher.Commit(ids.back()).ok());
      } else {
        const size_t back = 1 + random.Below(ids.size());
        ids.resize(ids.size() - back);
        ASSERT_TRUE(matcher.Rollback(static_cast<int>(back)).ok());
      }
      GrammarMatcher fresh = *start.Clone();
      for (const int32_t id : ids) ASSERT_TRUE(fresh.Commit(id).ok());
      ASSERT_EQ(MaskOf(matcher), MaskOf(fresh)) << "seed " << seed << " step " << step;
      ASSERT_EQ(matcher.may_end(), fresh.may_end());
      ASSERT_EQ(matcher.must_end(), fresh.must_end());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grammars, GrammarTest, ::testing::Range<size_t>(0, Cases().size()),
                         [](const auto& param) { return std::string(Cases()[param.param].name); });

// A text of random tokens; ends are taken where there is one, and quotes and brackets preferred,
// lest every string go on. Empty: it did not end.
std::string RandomText(GrammarMatcher matcher, uint64_t seed) {
  text_test::Random random(seed);
  std::string text;
  for (int step = 0; step < 150; ++step) {
    std::vector<int32_t> allowed = Allowed(MaskOf(matcher));
    if (matcher.may_end() && (matcher.must_end() || random.Below(2) == 0)) return text;
    if (random.Below(2) == 0) {
      std::vector<int32_t> closing;
      for (const int32_t id : allowed) {
        if (IsEos(id)) continue;
        const bool closes =
            Vocabulary()->TokenBytes(id)->find_first_of("\"}]") != std::string::npos;
        if (closes) closing.push_back(id);
      }
      if (!closing.empty()) allowed = closing;
    }
    const int32_t id = allowed[random.Below(allowed.size())];
    EXPECT_TRUE(matcher.Commit(id).ok());
    if (IsEos(id)) return text;
    text += *Vocabulary()->TokenBytes(id);
  }
  return {};
}

TEST(GrammarOutputTest, TextsOfASchemaFitIt) {
  const auto compiler = Compiler();
  const GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kJsonSchema, Cases()[1].text);
  int ended = 0;
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(300, 30); ++seed) {
    const std::string text = RandomText(*matcher.Clone(), seed);
    if (text.empty()) continue;
    ++ended;
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object()) << text;
    ASSERT_TRUE(json["name"].is_string()) << text;
    ASSERT_TRUE(json["age"].is_number_integer()) << text;
    ASSERT_LE(json["age"].get<int>(), 150);
    ASSERT_GE(json["age"].get<int>(), 0);
    for (const auto& [key, value] : json.items()) {
      ASSERT_TRUE(key == "name" || key == "age" || key == "kind") << text;
      if (key != "kind") continue;
      ASSERT_TRUE(value == "ab" || value == "abc" || value == nullptr) << text;
    }
  }
  EXPECT_GE(ended, Sampled(30, 1));
}

TEST(GrammarOutputTest, TextsOfAJsonObjectAreOne) {
  const auto compiler = Compiler();
  const GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kJsonObject, "");
  int ended = 0;
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(200, 30); ++seed) {
    const std::string text = RandomText(*matcher.Clone(), seed);
    if (text.empty()) continue;
    ++ended;
    // Without exponents: nlohmann refuses numbers beyond a double's.
    const std::string bounded = std::regex_replace(text, std::regex("[eE][-+]?[0-9]+"), "");
    const auto json = nlohmann::json::parse(bounded, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object()) << text;
  }
  EXPECT_GE(ended, Sampled(20, 1));
}

TEST(GrammarOutputTest, TextsOfARegexMatchIt) {
  const auto compiler = Compiler();
  const GrammarMatcher matcher =
      Compile(*compiler, ConstraintKind::kRegex, "(ab|ba)+-?[0-9]{2,4}( [a-c]*)?");
  const std::regex regex("(ab|ba)+-?[0-9]{2,4}( [a-c]*)?");
  int ended = 0;
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(300, 30); ++seed) {
    const std::string text = RandomText(*matcher.Clone(), seed);
    if (text.empty()) continue;
    ++ended;
    ASSERT_TRUE(std::regex_match(text, regex)) << text;
  }
  EXPECT_GE(ended, Sampled(30, 1));
}

TEST(GrammarEndTest, AnEndEndsAndIsTakenBack) {
  const auto compiler = Compiler();
  for (const int32_t end : {kEndOfText, kEndOfTurn}) {
    GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kRegex, "(ab)+");
    EXPECT_FALSE(matcher.may_end());
    EXPECT_FALSE(matcher.Commit(end).ok());
    const int32_t ab = Cut(*Vocabulary(), "ab").front();
    ASSERT_TRUE(matcher.Commit(ab).ok());
    EXPECT_TRUE(matcher.may_end());
    EXPECT_FALSE(matcher.must_end());
    const Mask before = MaskOf(matcher);
    ASSERT_TRUE(matcher.Commit(end).ok());
    EXPECT_TRUE(matcher.must_end());
    EXPECT_EQ(Allowed(MaskOf(matcher)), (std::vector<int32_t>{kEndOfText, kEndOfTurn}));
    EXPECT_FALSE(matcher.Commit(ab).ok());
    EXPECT_FALSE(matcher.Commit(end).ok());
    ASSERT_TRUE(matcher.Rollback(1).ok());
    EXPECT_EQ(MaskOf(matcher), before);
    EXPECT_FALSE(matcher.Rollback(2).ok());
    EXPECT_EQ(MaskOf(matcher), before);
    ASSERT_TRUE(matcher.Rollback(1).ok());
    ASSERT_TRUE(matcher.Rollback(0).ok());
    EXPECT_FALSE(matcher.may_end());
  }
}

TEST(GrammarEndTest, NothingCanFollow) {
  const auto compiler = Compiler();
  GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kRegex, "hello");
  ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "hello").front()).ok());
  EXPECT_TRUE(matcher.may_end());
  EXPECT_TRUE(matcher.must_end());
  EXPECT_EQ(Allowed(MaskOf(matcher)), (std::vector<int32_t>{kEndOfText, kEndOfTurn}));
  ASSERT_TRUE(matcher.Rollback(1).ok());
  EXPECT_FALSE(matcher.must_end());

  const GrammarMatcher empty = Compile(*compiler, ConstraintKind::kGrammar, "start: \"\"\n");
  EXPECT_TRUE(empty.may_end());
  EXPECT_TRUE(empty.must_end());
}

TEST(GrammarEndTest, ATextThatNoTokenContinues) {  // the vocabulary has no \x01
  const auto compiler = Compiler();
  GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kRegex, "a(\\x01|b\\x01)");
  Mask mask(compiler->MaskWords());
  ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "a").front()).ok());
  const Mask before = MaskOf(matcher);
  ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "b").front()).ok());
  const Status status = matcher.ComputeMask(mask);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("no token of the vocabulary continues"), std::string::npos);
  // As behind a draft that is not taken.
  ASSERT_TRUE(matcher.Rollback(1).ok());
  EXPECT_EQ(MaskOf(matcher), before);
}

TEST(GrammarEndTest, WithoutEndOfSequenceIds) {
  const auto compiler = Compiler({});
  GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kRegex, "ab*");
  EXPECT_FALSE(IsSet(MaskOf(matcher), kEndOfText));
  ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "a").front()).ok());
  EXPECT_TRUE(matcher.may_end());
  EXPECT_FALSE(IsSet(MaskOf(matcher), kEndOfText));
}

// A special token is no text, and its text is not the token.
TEST(GrammarSpecialTest, OnlyByName) {
  const auto compiler = Compiler();
  GrammarMatcher matcher =
      Compile(*compiler, ConstraintKind::kGrammar, "start: \"a\" <|other|> \"b\" <|im_end|>\n");
  ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "a").front()).ok());
  EXPECT_EQ(Allowed(MaskOf(matcher)), std::vector<int32_t>{kOtherSpecial});
  EXPECT_FALSE(matcher.Commit(Cut(*Vocabulary(), "<").front()).ok());
  const Mask before = MaskOf(matcher);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(matcher.Commit(kOtherSpecial).ok());
    ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "b").front()).ok());
    EXPECT_EQ(Allowed(MaskOf(matcher)), std::vector<int32_t>{kEndOfTurn});
    ASSERT_TRUE(matcher.Rollback(2).ok());
    EXPECT_EQ(MaskOf(matcher), before);
  }
  ASSERT_TRUE(matcher.Commit(kOtherSpecial).ok());
  ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "b").front()).ok());
  ASSERT_TRUE(matcher.Commit(kEndOfTurn).ok());
  EXPECT_TRUE(matcher.must_end());
}

TEST(GrammarSpecialTest, ByIdAndRolledBack) {
  const auto compiler = Compiler();
  const int32_t ab = Cut(*Vocabulary(), "ab").front();
  GrammarMatcher matcher =
      Compile(*compiler, ConstraintKind::kGrammar,
              "start: /[a-z]*/ <[" + std::to_string(ab) + "]> \"ba\" <[2]> \"12\"\n");
  std::vector<Mask> masks;
  const std::vector<int32_t> ids = {Cut(*Vocabulary(), "hello").front(), ab,
                                    Cut(*Vocabulary(), "ba").front(), kOtherSpecial,
                                    Cut(*Vocabulary(), "12").front()};
  for (const int32_t id : ids) {
    masks.push_back(MaskOf(matcher));
    ASSERT_TRUE(matcher.Commit(id).ok()) << id;
  }
  EXPECT_TRUE(matcher.must_end());
  for (size_t back = 1; back <= ids.size(); ++back) {
    const size_t left = ids.size() - back;
    ASSERT_TRUE(matcher.Rollback(static_cast<int>(back)).ok());
    EXPECT_EQ(MaskOf(matcher), masks[left]) << left;
    for (size_t i = left; i < ids.size(); ++i) ASSERT_TRUE(matcher.Commit(ids[i]).ok());
  }
}

TEST(GrammarCommitTest, AnIdThatDoesNotFitChangesNothing) {
  const auto compiler = Compiler();
  GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kJsonObject, "");
  ASSERT_TRUE(matcher.Commit(Cut(*Vocabulary(), "{\"").front()).ok());
  const Mask before = MaskOf(matcher);
  for (const int32_t id : {-1, text_test::kAbsent, kOtherSpecial, Vocabulary()->vocab_size(),
                           INT32_MAX, Cut(*Vocabulary(), "\n  ").front()}) {
    const Status status = matcher.Commit(id);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << id;
    EXPECT_EQ(MaskOf(matcher), before);
  }
}

TEST(GrammarCommitTest, AMaskOfAnotherSizeIsRefused) {
  const auto compiler = Compiler();
  GrammarMatcher matcher = Compile(*compiler, ConstraintKind::kJsonObject, "");
  Mask mask(compiler->MaskWords() + 1);
  EXPECT_FALSE(matcher.ComputeMask(mask).ok());
}

TEST(GrammarCompilerTest, AnEndOfSequenceIdWithoutToken) {
  for (const int32_t id : {-1, text_test::kAbsent, Vocabulary()->vocab_size()}) {
    const std::vector<int32_t> eos = {id};
    const auto compiler = GrammarCompiler::Create(Vocabulary(), eos);
    ASSERT_FALSE(compiler.ok());
    EXPECT_EQ(compiler.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(GrammarCompilerTest, FromSeveralThreads) {
  const auto compiler = Compiler();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (const Case& one : Cases()) {
        EXPECT_TRUE(Accepts(Compile(*compiler, one.kind, one.text), one.accepted.front()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The tokenizer of a model of this repository: a merged vocabulary of bytes.
TEST(GrammarModelTest, NanosVocabulary) {
  const auto tokenizer = text_test::LoadTokenizer(text_test::NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  const std::vector<int32_t> eos = {*tokenizer->TokenId("<|im_end|>")};
  const auto compiler = GrammarCompiler::Create(tokenizer, eos);
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  GrammarMatcher matcher = Compile(**compiler, ConstraintKind::kJsonObject, "");
  Mask mask((*compiler)->MaskWords());
  const auto ids = tokenizer->Encode("{\"name\": \"J\xC3\xBCrgen \xE2\x82\xAC\", \"n\": [1, 2]}");
  ASSERT_TRUE(ids.ok());
  for (const int32_t id : *ids) {
    ASSERT_TRUE(matcher.ComputeMask(mask).ok());
    ASSERT_TRUE(IsSet(mask, id)) << id;
    ASSERT_TRUE(matcher.Commit(id).ok());
  }
  EXPECT_TRUE(matcher.must_end());
  ASSERT_TRUE(matcher.ComputeMask(mask).ok());
  EXPECT_EQ(Allowed(mask), eos);
}

TEST(ConstraintKindTest, Names) {
  EXPECT_EQ(ConstraintKindName(ConstraintKind::kNone), "none");
  EXPECT_EQ(ConstraintKindName(ConstraintKind::kJsonObject), "json_object");
  EXPECT_EQ(ConstraintKindName(ConstraintKind::kJsonSchema), "json_schema");
  EXPECT_EQ(ConstraintKindName(ConstraintKind::kRegex), "regex");
  EXPECT_EQ(ConstraintKindName(ConstraintKind::kGrammar), "grammar");
}

}  // namespace
}  // namespace verbatim
