// AnswerParser case by case: what a text says, and that every single cut of it, and every byte by
// itself, says the same. Random texts are in answer_parser_property_test.cc.
#include "text/answer_parser.h"

#include <gtest/gtest.h>

#include "tests/text/answer_test_support.h"

namespace verbatim {
namespace {

using text_test::Arguments;
using text_test::Call;
using text_test::Content;
using text_test::Deltas;
using text_test::Reasoning;

enum Mode { kPlain, kThinking, kInReasoning, kTools, kThinkingTools };

AnswerParserOptions Options(Mode mode) {
  AnswerParserOptions options;
  options.split_reasoning = mode != kPlain && mode != kTools;
  options.starts_in_reasoning = mode == kInReasoning;
  if (mode == kTools || mode == kThinkingTools) options.tools = text_test::Tools();
  return options;
}

void Expect(Mode mode, const std::string& text, const Deltas& expected) {
  SCOPED_TRACE(text);
  const AnswerParserOptions options = Options(mode);
  EXPECT_EQ(text_test::Parse(options, text), expected);
  std::vector<size_t> every;
  for (size_t cut = 1; cut < text.size(); ++cut) {
    EXPECT_EQ(text_test::ParseCut(options, text, {cut}), expected) << "cut at " << cut;
    every.push_back(cut);
  }
  EXPECT_EQ(text_test::ParseCut(options, text, every), expected) << "byte by byte";
}

std::string Wrapped(const std::string& body) {
  return "<tool_call>\n<function=get_weather>\n" + body + "</function>\n</tool_call>";
}

std::string Parameter(const std::string& name, const std::string& value) {
  return "<parameter=" + name + ">\n" + value + "\n</parameter>\n";
}

// One call with one parameter: the arguments.
void ExpectValue(const std::string& name, const std::string& value, const std::string& json) {
  Expect(kTools, Wrapped(Parameter(name, value)),
         {Call(0, "get_weather"), Arguments(0, "{\"" + name + "\":" + json + "}")});
}

TEST(AnswerParserTest, Content) {
  Expect(kPlain, "", {});
  Expect(kPlain, "Hi <think>x</think>\n", {Content("Hi <think>x</think>\n")});
  Expect(kPlain, "<tool_call>\n<function=now>\n</function>\n</tool_call>",
         {Content("<tool_call>\n<function=now>\n</function>\n</tool_call>")});
  Expect(kTools, " Hi\n\n", {Content(" Hi\n\n")});
  Expect(kThinking, "Hi\n", {Content("Hi\n")});
  Expect(kThinking, "\n", {Content("\n")});
  Expect(kThinking, "\xE2\x82\xAC<\xC3\xA4", {Content("\xE2\x82\xAC<\xC3\xA4")});
}

TEST(AnswerParserTest, Reasoning) {
  Expect(kThinking, "<think>\na\n\nb\n</think>\n\nHi\n", {Reasoning("a\n\nb"), Content("Hi\n")});
  Expect(kThinking, "\n <think>a</think>Hi", {Reasoning("a"), Content("Hi")});
  Expect(kThinking, "<think>\n\n</think>\n\nHi", {Content("Hi")});
  Expect(kThinking, "<think></think>", {});
  Expect(kInReasoning, "a\n</think>\n\nHi", {Reasoning("a"), Content("Hi")});
  Expect(kInReasoning, "\n\na <think> b</think>Hi </think>",
         {Reasoning("a <think> b"), Content("Hi </think>")});
  // Only at the start of an answer.
  Expect(kThinking, "Hi <think>a</think>", {Content("Hi <think>a</think>")});
  // Never closed: all of it, line breaks included.
  Expect(kInReasoning, "a </thin\n", {Reasoning("a </thin\n")});
  Expect(kInReasoning, "a\n", {Reasoning("a\n")});
  Expect(kThinking, "<thin", {Content("<thin")});
  // What looks like a call there is reasoning.
  Expect(kThinkingTools, "<think>\n<tool_call>\n<function=now>\n</think>\n",
         {Reasoning("<tool_call>\n<function=now>")});
}

TEST(AnswerParserTest, CallsAndTheTextAroundThem) {
  const std::string now = "<tool_call>\n<function=now>\n</function>\n</tool_call>";
  Expect(kTools, now, {Call(0, "now"), Arguments(0, "{}")});
  Expect(kTools, "Let me see.\n\n" + now + "\n" + now + "\n",
         {Content("Let me see."), Call(0, "now"), Arguments(0, "{}"), Call(1, "now"),
          Arguments(1, "{}")});
  Expect(kTools, now + "\nDone.\n", {Call(0, "now"), Arguments(0, "{}"), Content("\nDone.\n")});
  Expect(kThinkingTools, "<think>\na\n</think>\n\nOk\n\n" + now,
         {Reasoning("a"), Content("Ok"), Call(0, "now"), Arguments(0, "{}")});
  Expect(kThinkingTools, "<think>\na\n</think>\n\n" + now,
         {Reasoning("a"), Call(0, "now"), Arguments(0, "{}")});
  Expect(kTools, Wrapped(Parameter("city", "Ulm") + Parameter("days", "3")),
         {Call(0, "get_weather"), Arguments(0, "{\"city\":\"Ulm\",\"days\":3}")});
  // A function that no tool has is a call: the client knows what to answer.
  Expect(kTools, "<tool_call><function=none><parameter=a>1</parameter></function></tool_call>",
         {Call(0, "none"), Arguments(0, "{\"a\":\"1\"}")});
}

TEST(AnswerParserTest, ValuesOfStrings) {
  ExpectValue("city", "Ulm", "\"Ulm\"");
  ExpectValue("city", "", "\"\"");
  ExpectValue("city", "\n a \n", "\"\\n a \\n\"");
  ExpectValue("city", "12", "\"12\"");
  ExpectValue("city", "\"x\"", "\"\\\"x\\\"\"");
  ExpectValue("city", "a\\b\t\x01\x7F\xC3\xA4", "\"a\\\\b\\t\\u0001\x7F\xC3\xA4\"");
  ExpectValue("city", "<b></function></tool_call><parameter=x></para",
              "\"<b></function></tool_call><parameter=x></para\"");
  ExpectValue("unknown", "12", "\"12\"");
  ExpectValue("unit", "C", "\"C\"");
}

TEST(AnswerParserTest, ValuesOfOtherTypes) {
  ExpectValue("days", "3", "3");
  ExpectValue("days", " 3\n", "3");
  ExpectValue("days", "1234567890123456789012345", "1234567890123456789012345");
  ExpectValue("days", "three", "\"three\"");
  ExpectValue("days", "03", "\"03\"");
  ExpectValue("days", "", "\"\"");
  ExpectValue("days", "[1]", "[1]");
  ExpectValue("metric", "true", "true");
  ExpectValue("metric", "False", "false");  // as Python prints it, and templates with it
  ExpectValue("limits", "{\"low\": 1.50,\n \"x\": \"</b>\"}", "{\"low\": 1.50,\n \"x\": \"</b>\"}");
  ExpectValue("limits", "{\"low\": 1", "\"{\\\"low\\\": 1\"");
  ExpectValue("tags", "[\"a\", \"b\"]", "[\"a\", \"b\"]");
  ExpectValue("tags", std::string(200, '[') + std::string(200, ']'),  // deeper than is safe
              "\"" + std::string(200, '[') + std::string(200, ']') + "\"");
  ExpectValue("note", "null", "null");
  ExpectValue("note", "None", "null");
  ExpectValue("note", "3", "\"3\"");
  ExpectValue("note", "\"x\"", "\"\\\"x\\\"\"");
  ExpectValue("any", "3", "3");
  ExpectValue("any", "x y", "\"x y\"");
  ExpectValue("either", "3.5", "3.5");
  ExpectValue("either", "[3]", "\"[3]\"");
  Expect(kTools, "<tool_call>\n<function=flat>\n<parameter=n>\n-1e3\n</parameter>\n</function>",
         {Call(0, "flat"), Arguments(0, "{\"n\":-1e3}")});
}

// The first value of a name counts: JSON's names are unique.
TEST(AnswerParserTest, ARepeatedParameter) {
  Expect(kTools, Wrapped(Parameter("city", "A") + Parameter("city", "B") + Parameter("days", "1")),
         {Call(0, "get_weather"), Arguments(0, "{\"city\":\"A\",\"days\":1}")});
}

TEST(AnswerParserTest, WhatIsLeftOut) {
  const Deltas expected = {Call(0, "get_weather"), Arguments(0, "{\"city\":\"Ulm\"}")};
  Expect(kTools, "<tool_call><function=get_weather><parameter=city>Ulm</parameter></function>",
         expected);
  Expect(kTools, "<tool_call><function=get_weather><parameter=city>Ulm</parameter></tool_call>",
         expected);
  Expect(kTools,
         "<tool_call> <function=get_weather>\t<parameter=city>\nUlm</parameter>  </function> ",
         expected);
}

// Byte for byte.
TEST(AnswerParserTest, WhatOnlyLooksLikeACall) {
  for (const char* text :
       {"<tool_call>", "<tool_call>\n", "a\n\n<tool_call>\n{\"name\": \"now\"}\n</tool_call>\n",
        "<tool_call>\n<function=now", "<tool_call>\n<function=now>\n",
        "<tool_call>\n<function=>\n</function>", "<tool_call>\n<function=a<b>\n</function>",
        "<tool_call>\n<function=a\n>\n</function>",
        "<tool_call>\n<function=now>\nwell\n</function>\n</tool_call>",
        "x <function=now>\n</function>", "<tool_call> <tool_call>",
        "<tool_calls>\n<function=now>\n</function>", "</tool_call>\n"}) {
    Expect(kTools, text, {Content(text)});
  }
  const std::string longer = "<tool_call>\n<function=" + std::string(300, 'a') + ">\n</function>";
  Expect(kTools, longer, {Content(longer)});
  // A call may follow.
  Expect(kTools, "<tool_call> <tool_call><function=now></function></tool_call>",
         {Content("<tool_call>"), Call(0, "now"), Arguments(0, "{}")});
}

// A call that has begun cannot be taken back. Its arguments then are no complete JSON, so that
// nobody takes half of them for the whole.
TEST(AnswerParserTest, ACallThatDoesNotEnd) {
  const std::string head = "<tool_call>\n<function=get_weather>\n";
  Expect(kTools, head + "<parameter=city>\nUl",
         {Call(0, "get_weather"), Arguments(0, "{\"city\":\"Ul")});
  Expect(kTools, head + "<parameter=city>\nUl</para",
         {Call(0, "get_weather"), Arguments(0, "{\"city\":\"Ul</para")});
  Expect(kTools, head + "<parameter=days>\n1",
         {Call(0, "get_weather"), Arguments(0, "{\"days\":")});
  Expect(kTools, head + "<parameter=", {Call(0, "get_weather")});
  Expect(kTools, head + Parameter("days", "1"),
         {Call(0, "get_weather"), Arguments(0, "{\"days\":1")});
  Expect(kTools, head + Parameter("days", "1") + "\nwell <parameter=x>",
         {Call(0, "get_weather"), Arguments(0, "{\"days\":1"), Content("\n\nwell <parameter=x>")});
  Expect(kTools,
         head + Parameter("days", "1") + "<tool_call>\n<function=now>\n</function>\n</tool_call>",
         {Call(0, "get_weather"), Arguments(0, "{\"days\":1"), Call(1, "now"), Arguments(1, "{}")});
}

TEST(AnswerParserTest, WhetherACallIsUnfinished) {
  const std::string head = "<tool_call>\n<function=get_weather>\n";
  const std::string whole = head + Parameter("days", "1") + "</function>\n</tool_call>";
  const auto unfinished = [](const std::string& text) {
    const auto parser = MakeAnswerParser(AnswerFormat::kQwen35, Options(kTools));
    Deltas deltas;
    parser->Push(text, deltas);
    parser->Finish(deltas);
    return parser->has_unfinished_call();
  };
  for (const std::string& text :
       {std::string("well"), whole, whole + "\n" + whole, whole + "<tool"}) {
    EXPECT_FALSE(unfinished(text)) << text;
  }
  for (const std::string& text :
       {head + "<parameter=city>\nUl", head + "<parameter=days>\n1",
        head + "<parameter=", head + Parameter("days", "1"), head + Parameter("days", "1") + "well",
        whole + head + "<parameter=", whole + "\n" + head + "<parameter=city>\nUl"}) {
    EXPECT_TRUE(unfinished(text)) << text;
  }
}

// Text comes out as soon as nothing can change it.
TEST(AnswerParserTest, Streams) {
  const auto parser = MakeAnswerParser(AnswerFormat::kQwen35, Options(kThinkingTools));
  const auto push = [&](const char* text) {
    Deltas deltas;
    parser->Push(text, deltas);
    return text_test::Joined(deltas);
  };
  EXPECT_EQ(push("<think>\nI see"), Deltas{Reasoning("I see")});
  EXPECT_EQ(push(" <"), Deltas{Reasoning(" ")});
  EXPECT_EQ(push("b>\n"), Deltas{Reasoning("<b>")});
  EXPECT_EQ(push("\n</think>\n\nHi"), Deltas{Content("Hi")});
  EXPECT_EQ(push(" there"), Deltas{Content(" there")});
  EXPECT_EQ(push("\n<tool_call>\n<function=get_weather>\n"), Deltas{});
  EXPECT_EQ(push("<parameter="), Deltas{Call(0, "get_weather")});
  EXPECT_EQ(push("city>\nUl"), Deltas{Arguments(0, "{\"city\":\"Ul")});
  EXPECT_EQ(push("m\n"), Deltas{Arguments(0, "m")});
  EXPECT_EQ(push("x</parameter>\n</function>"), Deltas{Arguments(0, "\\nx\"}")});
}

TEST(EndsInReasoningTest, TheTurnThatTheModelContinues) {
  const auto ends = [](const char* prompt) {
    return EndsInReasoning(AnswerFormat::kQwen35, prompt);
  };
  EXPECT_TRUE(ends("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"));
  EXPECT_TRUE(ends("<|im_start|>assistant\n<think>\nso far"));
  EXPECT_FALSE(ends("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(ends("<|im_start|>assistant\n"));
  // A user's text.
  EXPECT_FALSE(ends("<|im_start|>user\nwhat is <think>?<|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_TRUE(ends("<|im_start|>user\n</think><|im_end|>\n<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(ends(""));
  EXPECT_TRUE(ends("raw <think> text"));
}

}  // namespace
}  // namespace verbatim
