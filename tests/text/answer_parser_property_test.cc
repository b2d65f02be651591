// AnswerParser over random texts: no cut changes what is said, and what a template writes is read
// back. Not the cases one by one (answer_parser_test.cc).
#include <gtest/gtest.h>

#include "support/sample_size.h"
#include "tests/text/answer_test_support.h"
#include "tests/text/text_test_support.h"
#include "text/answer_parser.h"
#include "text/chat_template.h"

namespace verbatim {
namespace {

using nlohmann::ordered_json;
using testing::Sampled;
using text_test::Deltas;
using text_test::Random;
using Kind = AnswerDelta::Kind;

// What tags are made of, whole and in part, and what stands around them.
constexpr const char* kPieces[] = {"<think>",
                                   "</think>",
                                   "<tool_call>",
                                   "</tool_call>",
                                   "<function=",
                                   "</function>",
                                   "<parameter=",
                                   "</parameter>",
                                   "get_weather",
                                   "now",
                                   "city",
                                   "days",
                                   "any",
                                   "limits",
                                   ">",
                                   ">\n",
                                   "\n",
                                   "\n\n",
                                   " ",
                                   "\t",
                                   "<",
                                   "</",
                                   "<tool",
                                   "_call>",
                                   "<fun",
                                   "<param",
                                   "</para",
                                   "meter>",
                                   "a",
                                   "12",
                                   "true",
                                   "null",
                                   "{\"low\": 1}",
                                   "[1,",
                                   "]",
                                   "\"",
                                   "\\",
                                   "\xC3\xA4",
                                   "\xE2\x82\xAC",
                                   "text",
                                   "<tool_call>\n<function=get_weather>\n<parameter=city>\n",
                                   "\n</parameter>\n",
                                   "</function>\n</tool_call>",
                                   "<tool_call>\n<function=now>\n</function>\n</tool_call>",
                                   "<parameter=days>\n3\n</parameter>\n",
                                   "<parameter=any>\n"};

std::string RandomText(Random& random) {
  std::string text;
  for (size_t pieces = random.Below(24); pieces > 0; --pieces) {
    text += kPieces[random.Below(std::size(kPieces))];
  }
  return text;
}

AnswerParserOptions RandomOptions(Random& random) {
  AnswerParserOptions options;
  options.split_reasoning = random.Below(2) == 0;
  options.starts_in_reasoning = random.Below(3) == 0;
  if (random.Below(4) != 0) options.tools = text_test::Tools();
  return options;
}

std::vector<size_t> RandomCuts(Random& random, size_t size) {
  std::vector<size_t> cuts;
  for (size_t i = random.Below(8); i > 0; --i) cuts.push_back(random.Below(size + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

TEST(AnswerParserPropertyTest, NoCutChangesAnything) {
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(4000, 400); ++seed) {
    Random random(seed);
    const AnswerParserOptions options = RandomOptions(random);
    const std::string text = RandomText(random);
    const Deltas whole = text_test::Parse(options, text);
    std::vector<size_t> every;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      every.push_back(cut);
      ASSERT_EQ(text_test::ParseCut(options, text, {cut}), whole)
          << "seed " << seed << " at " << cut;
    }
    ASSERT_EQ(text_test::ParseCut(options, text, every), whole) << "seed " << seed << " by bytes";
    for (int i = 0; i < 20; ++i) {
      const std::vector<size_t> cuts = RandomCuts(random, text.size());
      ASSERT_EQ(text_test::ParseCut(options, text, cuts), whole) << "seed " << seed;
    }
  }
}

// Without calls and reasoning nothing is lost; with them, calls count from 0 and have names.
TEST(AnswerParserPropertyTest, NothingIsLost) {
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(4000, 400); ++seed) {
    Random random(seed);
    const AnswerParserOptions options = RandomOptions(random);
    const std::string text = RandomText(random);
    int calls = 0;
    bool reasoning = options.split_reasoning && options.starts_in_reasoning;
    for (const AnswerDelta& delta : text_test::Parse(options, text)) {
      ASSERT_FALSE(delta.text.empty());
      if (delta.kind == Kind::kToolCall) {
        ASSERT_EQ(delta.tool_call, calls++);
      }
      if (delta.kind == Kind::kToolCallArguments) {
        ASSERT_EQ(delta.tool_call, calls - 1);
      }
      reasoning |= delta.kind == Kind::kReasoning;
    }
    const bool may_reason = options.split_reasoning && text.find("<think>") != text.npos;
    if (calls > 0 || reasoning || may_reason) continue;
    ASSERT_EQ(text_test::TextOf(text_test::Parse(options, text), Kind::kContent), text);
  }
}

std::string RandomWords(Random& random) {
  static constexpr const char* kWords[] = {"a",
                                           "\n",
                                           " ",
                                           "\"",
                                           "\\",
                                           "<b>",
                                           "</",
                                           "\xC3\xA4",
                                           "{",
                                           "}",
                                           "12",
                                           "true",
                                           "\xF0\x9F\x98\x80",
                                           "</parameter",
                                           "\t"};
  std::string text;
  for (size_t i = random.Below(12); i > 0; --i) text += kWords[random.Below(std::size(kWords))];
  return text;
}

ordered_json RandomJson(Random& random, int levels) {
  switch (random.Below(levels > 0 ? 7 : 5)) {
    case 0:
      return RandomWords(random);
    case 1:
      return static_cast<int64_t>(random.Next()) >> random.Below(60);
    case 2:
      return static_cast<double>(random.Below(1000)) / 8;
    case 3:
      return random.Below(2) == 0;
    case 4:
      return nullptr;
    case 5: {
      ordered_json list = ordered_json::array();
      for (size_t i = random.Below(4); i > 0; --i) list.push_back(RandomJson(random, levels - 1));
      return list;
    }
    default: {
      ordered_json object = ordered_json::object();
      for (size_t i = random.Below(4); i > 0; --i) {
        object[RandomWords(random)] = RandomJson(random, levels - 1);
      }
      return object;
    }
  }
}

// Reasoning and content as a template trims them.
std::string Trimmed(std::string text) {
  const size_t first = text.find_first_not_of(" \n\t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \n\t") - first + 1);
}

// Messages with reasoning, content and calls, written by a template in the family's form.
TEST(AnswerParserPropertyTest, ReadsWhatTheTemplateWrites) {
  const auto path = text_test::SourceDir() / "tests/goldens/text/templates/qwen35_like.jinja";
  const auto chat_template =
      ChatTemplate::FromSource(text_test::ReadFile(path), nullptr, "qwen35_like");
  ASSERT_TRUE(chat_template.ok());
  const std::pair<const char*, unsigned> kStrings[] = {{"city", 0}, {"unit", 1}};
  for (uint64_t seed = 0; seed < Sampled<uint64_t>(300, 30); ++seed) {
    Random random(seed);
    const std::string reasoning = Trimmed(RandomWords(random));
    const std::string content = Trimmed(RandomWords(random));
    ordered_json calls = ordered_json::array();
    for (size_t i = random.Below(4); i > 0; --i) {
      ordered_json arguments = ordered_json::object();
      for (const auto& [name, chance] : kStrings) {
        if (random.Below(2) == chance) arguments[name] = RandomWords(random);
      }
      if (random.Below(2) == 0) arguments["days"] = random.Below(1000);
      if (random.Below(2) == 0) arguments["metric"] = random.Below(2) == 0;
      if (random.Below(2) == 0) {
        arguments["tags"] = ordered_json::array({RandomJson(random, 2), RandomJson(random, 2)});
      }
      if (random.Below(2) == 0) arguments["limits"] = {{"low", RandomJson(random, 2)}};
      calls.push_back({{"type", "function"},
                       {"function", {{"name", "get_weather"}, {"arguments", arguments}}}});
    }
    ordered_json message = {
        {"role", "assistant"}, {"content", content}, {"reasoning_content", reasoning}};
    if (!calls.empty()) message["tool_calls"] = calls;
    const ordered_json messages = {{{"role", "user"}, {"content", "Hi"}}, message};
    ChatTemplateOptions rendering;
    rendering.add_generation_prompt = false;
    const auto text = chat_template->Render(messages, rendering);
    ASSERT_TRUE(text.ok()) << text.status().message();
    const std::string head = "<|im_start|>assistant\n<think>\n";
    const size_t begin = text->find(head);
    ASSERT_NE(begin, text->npos);
    const std::string_view prompt = std::string_view(*text).substr(0, begin + head.size());
    ASSERT_TRUE(EndsInReasoning(AnswerFormat::kQwen35, prompt));
    const size_t end = text->rfind("<|im_end|>");
    const std::string answer = text->substr(prompt.size(), end - prompt.size());

    AnswerParserOptions options;
    options.starts_in_reasoning = true;
    options.tools = text_test::Tools();
    const Deltas deltas = text_test::ParseCut(options, answer, RandomCuts(random, answer.size()));
    SCOPED_TRACE(answer);
    ASSERT_EQ(text_test::TextOf(deltas, Kind::kReasoning), reasoning);
    ASSERT_EQ(text_test::TextOf(deltas, Kind::kContent), content);
    for (size_t i = 0; i < calls.size(); ++i) {
      const int call = static_cast<int>(i);
      ASSERT_EQ(text_test::TextOf(deltas, Kind::kToolCall, call), "get_weather");
      const auto arguments =
          ordered_json::parse(text_test::TextOf(deltas, Kind::kToolCallArguments, call), nullptr,
                              /*allow_exceptions=*/false);
      ASSERT_EQ(arguments, calls[i]["function"]["arguments"]);
    }
  }
}

}  // namespace
}  // namespace verbatim
