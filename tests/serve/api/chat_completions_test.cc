// Bodies of /v1/chat/completions: messages, tools, log probabilities, thinking.
#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

constexpr Api kApi = Api::kChatCompletions;

std::string Messages(std::string_view list) { return R"("messages": )" + std::string(list); }

void ExpectMessages(std::string_view given, std::string_view made) {
  EXPECT_EQ(Accepted(kApi, Messages(given)).messages.dump(), Json::parse(made).dump()) << given;
}

TEST(ChatCompletions, MessagesTakeTheFormOfTemplates) {
  ExpectMessages(R"([{"role": "user", "content": "a"}])", R"([{"role": "user", "content": "a"}])");
  ExpectMessages(R"([{"role": "developer", "content": "d"}, {"role": "user", "content": "a"}])",
                 R"([{"role": "system", "content": "d"}, {"role": "user", "content": "a"}])");
  ExpectMessages(R"([{"role": "system", "content": "s"}, {"role": "developer", "content": "d"},
                     {"role": "user", "content": "a", "name": "n"}])",
                 R"([{"role": "system", "content": "s\n\nd"},
                     {"role": "user", "content": "a", "name": "n"}])");
  ExpectMessages(
      R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])",
      R"([{"role": "user", "content": "ab"}])");
}

TEST(ChatCompletions, EarlierTurnsKeepThinkingAndCalls) {
  ExpectMessages(
      R"([{"role": "user", "content": "a"},
          {"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "f", "arguments": "{\"y\": [1], \"x\": \"2\"}"}},
            {"id": "c2", "function": {"name": "g", "arguments": {"k": 1}}},
            {"function": {"name": "h", "arguments": ""}}]},
          {"role": "tool", "tool_call_id": "c1", "content": "result"}])",
      R"([{"role": "user", "content": "a"},
          {"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [
            {"type": "function", "id": "c1",
             "function": {"name": "f", "arguments": {"y": [1], "x": "2"}}},
            {"type": "function", "id": "c2", "function": {"name": "g", "arguments": {"k": 1}}},
            {"type": "function", "function": {"name": "h", "arguments": {}}}]},
          {"role": "tool", "content": "result", "tool_call_id": "c1"}])");
  ExpectMessages(R"([{"role": "user", "content": "a"},
                     {"role": "assistant", "content": "b", "reasoning": "r", "tool_calls": []}])",
                 R"([{"role": "user", "content": "a"},
                     {"role": "assistant", "content": "b", "reasoning_content": "r"}])");
  ExpectMessages(R"([{"role": "user", "content": "a"}, {"role": "assistant",
                      "content": [{"type": "refusal", "refusal": "no"}]}])",
                 R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "no"}])");
}

TEST(ChatCompletions, WrongMessagesAreRefusedByPlace) {
  struct Case {
    const char* messages;
    const char* param;
    const char* part;
  };
  for (
      const Case& wrong : std::initializer_list<Case>{
          {R"(null)", "messages", "no such field"},
          {R"([])", "messages", "at least one"},
          {R"({})", "messages", "a list"},
          {R"([1])", "messages[0]", "an object, received 1"},
          {R"([{"content": "a"}])", "messages[0].role", "no such field"},
          {R"([{"role": "function", "content": "a"}])", "messages[0].role", "\"function\""},
          {R"([{"role": "user"}])", "messages[0].content", "no such field"},
          {R"([{"role": "user", "content": 42}])", "messages[0].content",
           "a string or a list of parts, received 42"},
          {R"([{"role": "user", "content": "a"}, {"role": "tool", "content": {}}])",
           "messages[1].content", ""},
          {R"([{"role": "user", "content": ["a"]}])", "messages[0].content[0]", "an object"},
          {R"([{"role": "user", "content": [{"text": "a"}]}])", "messages[0].content[0].type", ""},
          {R"([{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text",
           ""},
          {R"([{"role": "user", "content": [{"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "data:"}}]}])",
           "messages[0].content[1].type", "received \"image_url\""},
          {R"([{"role": "user", "content": [{"type": "input_audio"}]}])",
           "messages[0].content[0].type", "input_audio"},
          {R"([{"role": "assistant", "tool_calls": {}}])", "messages[0].tool_calls", "a list"},
          {R"([{"role": "assistant", "tool_calls": [{}]}])", "messages[0].tool_calls[0].function",
           ""},
          {R"([{"role": "assistant", "tool_calls": [{"type": "custom", "function": {}}]}])",
           "messages[0].tool_calls[0].type", ""},
          {R"([{"role": "assistant", "tool_calls": [{"function": {"arguments": "{}"}}]}])",
           "messages[0].tool_calls[0].function.name", ""},
          {R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}])",
           "messages[0].tool_calls[0].function.arguments", "the JSON text of an object"},
          {R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "[]"}}]}])",
           "messages[0].tool_calls[0].function.arguments", ""},
          {R"([{"role": "assistant", "function_call": {"name": "f"}}])",
           "messages[0].function_call", "tool_calls"},
          {R"([{"role": "assistant", "reasoning_content": 1}])", "messages[0].reasoning_content",
           ""},
      }) {
    ExpectRefused(kApi, Messages(wrong.messages), wrong.param, wrong.part);
  }
}

TEST(ChatCompletions, TooManyMessagesAreRefused) {
  std::string list = "[";
  for (int i = 0; i <= TestLimits().max_messages; ++i) {
    list += std::string(i > 0 ? "," : "") + R"({"role":"user","content":"a"})";
  }
  ExpectRefused(kApi, Messages(list + "]"), "messages", "at most 4096");
}

TEST(ChatCompletions, EndsAndChoices) {
  EXPECT_FALSE(Accepted(kApi, "").max_tokens);
  EXPECT_EQ(Accepted(kApi, R"("max_tokens": 7)").max_tokens, 7);
  EXPECT_EQ(Accepted(kApi, R"("max_completion_tokens": 8)").max_tokens, 8);
  EXPECT_EQ(Accepted(kApi, R"("max_tokens": 7, "max_completion_tokens": 8)").max_tokens, 8);
  EXPECT_EQ(Accepted(kApi, R"("n_predict": 9)").max_tokens, 9);
  EXPECT_FALSE(Accepted(kApi, R"("n_predict": -1)").max_tokens);
  EXPECT_EQ(Accepted(kApi, R"("max_tokens": 9223372036854775807)").max_tokens, 4096);
  EXPECT_THAT(Accepted(kApi, R"("stop": "END")").stop, ::testing::ElementsAre("END"));
  EXPECT_THAT(Accepted(kApi, R"("stop": ["a", "b"])").stop, ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(Accepted(kApi, R"("n": 16)").n, 16);
  EXPECT_EQ(Accepted(kApi, R"("n": 2, "best_of": 2)").n, 2);
  ExpectRefused(kApi, R"("max_tokens": 0)", "max_tokens", "at least 1, received 0");
  ExpectRefused(kApi, R"("max_tokens": -1)", "max_tokens");
  ExpectRefused(kApi, R"("max_tokens": 1.5)", "max_tokens");
  ExpectRefused(kApi, R"("max_completion_tokens": "5")", "max_completion_tokens");
  ExpectRefused(kApi, R"("n_predict": -2)", "n_predict");
  ExpectRefused(kApi, R"("stop": "")", "stop");
  ExpectRefused(kApi, R"("stop": ["a", ""])", "stop[1]");
  ExpectRefused(kApi, R"("stop": [1])", "stop[0]");
  ExpectRefused(kApi, R"("stop": {})", "stop", "a string or a list of strings");
  ExpectRefused(
      kApi,
      R"("stop": [)" +
          []() {
            std::string many = "\"a\"";
            for (int i = 0; i < 16; ++i) many += ",\"a\"";
            return many;
          }() +
          "]",
      "stop", "at most 16");
  ExpectRefused(kApi, R"("stop": ")" + std::string(1025, 'a') + "\"", "stop", "one of 1025");
  ExpectRefused(kApi, R"("n": 0)", "n");
  ExpectRefused(kApi, R"("n": 17)", "n", "from 1 to 16");
  ExpectRefused(kApi, R"("best_of": 2)", "best_of");
  ExpectRefused(kApi, R"("max_tokens": 3, "min_tokens": 4)", "min_tokens", "at most max_tokens, 3");
}

TEST(ChatCompletions, LogprobsAreABoolAndANumber) {
  EXPECT_EQ(Accepted(kApi, R"("logprobs": true)").sampling.logprobs, 0);
  EXPECT_EQ(Accepted(kApi, R"("logprobs": true, "top_logprobs": 20)").sampling.logprobs, 20);
  EXPECT_EQ(Accepted(kApi, R"("logprobs": false)").sampling.logprobs, -1);
  EXPECT_EQ(Accepted(kApi, R"("logprobs": false, "top_logprobs": 0)").sampling.logprobs, -1);
  ExpectRefused(kApi, R"("logprobs": 5)", "logprobs", "true or false");
  ExpectRefused(kApi, R"("top_logprobs": 5)", "top_logprobs", "\"logprobs\": true");
  ExpectRefused(kApi, R"("logprobs": true, "top_logprobs": 21)", "top_logprobs", "0 to 20");
}

TEST(ChatCompletions, ThinkingHasManyNames) {
  const auto thinking = [](std::string_view fields) {
    return Accepted(kApi, fields).enable_thinking;
  };
  EXPECT_EQ(thinking(""), std::nullopt);
  EXPECT_EQ(thinking(R"("reasoning_effort": "none")"), false);
  EXPECT_EQ(thinking(R"("reasoning_effort": "minimal")"), false);
  EXPECT_EQ(thinking(R"("reasoning_effort": "low")"), true);
  EXPECT_EQ(thinking(R"("reasoning_effort": "high")"), true);
  EXPECT_EQ(thinking(R"("reasoning": {"effort": "medium"})"), true);
  EXPECT_EQ(thinking(R"("reasoning": {"enabled": false})"), false);
  EXPECT_EQ(thinking(R"("thinking": {"type": "enabled", "budget_tokens": 1024})"), true);
  EXPECT_EQ(thinking(R"("thinking": {"type": "disabled"})"), false);
  EXPECT_EQ(thinking(R"("thinking": {"type": "adaptive"})"), std::nullopt);
  EXPECT_EQ(thinking(R"("enable_thinking": false)"), false);
  EXPECT_EQ(thinking(R"("chat_template_kwargs": {"enable_thinking": false})"), false);
  EXPECT_EQ(
      thinking(R"("enable_thinking": true, "chat_template_kwargs": {"enable_thinking": false})"),
      false);
  EXPECT_EQ(Accepted(kApi, R"("chat_template_kwargs": {"b": 1, "a": [2]})").template_kwargs.dump(),
            R"({"b":1,"a":[2]})");
  EXPECT_TRUE(Accepted(kApi, "").add_generation_prompt);
  EXPECT_FALSE(Accepted(kApi, R"("add_generation_prompt": false)").add_generation_prompt);
  ExpectRefused(kApi, R"("reasoning_effort": "huge")", "reasoning_effort");
  ExpectRefused(kApi, R"("reasoning_effort": 1)", "reasoning_effort");
  ExpectRefused(kApi, R"("reasoning": {"effort": 1})", "reasoning.effort");
  ExpectRefused(kApi, R"("reasoning": [])", "reasoning");
  ExpectRefused(kApi, R"("thinking": {"type": "on"})", "thinking.type");
  ExpectRefused(kApi, R"("thinking": {})", "thinking.type");
  ExpectRefused(kApi, R"("thinking": true)", "thinking");
  ExpectRefused(kApi, R"("enable_thinking": "no")", "enable_thinking");
  ExpectRefused(kApi, R"("chat_template_kwargs": [])", "chat_template_kwargs");
  ExpectRefused(kApi, R"("add_generation_prompt": 0)", "add_generation_prompt");
}

constexpr const char* kTools =
    R"("tools": [{"type": "function", "function": {"description": "d", "name": "f",
        "parameters": {"type": "object"}, "strict": true}},
       {"type": "function", "function": {"name": "g"}}])";

std::string WithTools(std::string_view fields) { return kTools + (", " + std::string(fields)); }

TEST(ChatCompletions, ToolsStayAsTheyAreWritten) {
  const AnswerRequest request = Accepted(kApi, kTools);
  EXPECT_EQ(request.tools.dump(),
            R"([{"type":"function","function":{"description":"d","name":"f","parameters":)"
            R"({"type":"object"},"strict":true}},{"type":"function","function":{"name":"g"}}])");
  EXPECT_EQ(request.tool_choice, ToolChoice::kAuto);
  EXPECT_TRUE(request.parallel_tool_calls);
  EXPECT_TRUE(Accepted(kApi, R"("tools": [])").tools.is_null());
}

TEST(ChatCompletions, ToolChoices) {
  const auto choice = [](std::string_view fields) {
    return Accepted(kApi, WithTools(fields)).tool_choice;
  };
  EXPECT_EQ(choice(R"("tool_choice": "auto")"), ToolChoice::kAuto);
  EXPECT_EQ(choice(R"("tool_choice": "none")"), ToolChoice::kNone);
  EXPECT_EQ(choice(R"("tool_choice": "required")"), ToolChoice::kRequired);
  const AnswerRequest named =
      Accepted(kApi, WithTools(R"("tool_choice": {"type": "function", "function": {"name": "g"}},
                         "parallel_tool_calls": false)"));
  EXPECT_EQ(named.tool_choice, ToolChoice::kNamed);
  EXPECT_EQ(named.tool_name, "g");
  EXPECT_FALSE(named.parallel_tool_calls);
  ExpectRefused(kApi, WithTools(R"("tool_choice": "any")"), "tool_choice");
  ExpectRefused(kApi, WithTools(R"("tool_choice": 1)"), "tool_choice");
  ExpectRefused(kApi, WithTools(R"("tool_choice": {})"), "tool_choice.type");
  ExpectRefused(kApi, WithTools(R"("tool_choice": {"type": "allowed_tools"})"), "tool_choice.type");
  ExpectRefused(kApi, WithTools(R"("tool_choice": {"type": "function"})"), "tool_choice.function");
  ExpectRefused(kApi,
                WithTools(R"("tool_choice": {"type": "function", "function": {"name": "h"}})"),
                "tool_choice.function.name", "one of tools");
  ExpectRefused(kApi, WithTools(R"("parallel_tool_calls": 1)"), "parallel_tool_calls");
  ExpectRefused(kApi, WithTools(R"("tool_choice": "required",
                                   "response_format": {"type": "json_object"})"),
                "tool_choice", "constraint");
  ExpectRefused(kApi, R"("tool_choice": "required")", "tool_choice", "no tools");
}

TEST(ChatCompletions, WrongToolsAreRefusedByPlace) {
  ExpectRefused(kApi, R"("tools": {})", "tools");
  ExpectRefused(kApi, R"("tools": [1])", "tools[0]");
  ExpectRefused(kApi, R"("tools": [{}])", "tools[0].type");
  ExpectRefused(kApi, R"("tools": [{"type": "web_search"}])", "tools[0].type", "web_search");
  ExpectRefused(kApi, R"("tools": [{"type": "function"}])", "tools[0].function");
  ExpectRefused(kApi, R"("tools": [{"type": "function", "function": {}}])",
                "tools[0].function.name");
  ExpectRefused(kApi, R"("tools": [{"type": "function", "function": {"name": "a>b"}}])",
                "tools[0].function.name");
  ExpectRefused(kApi, R"("tools": [{"type": "function", "function": {"name": ""}}])",
                "tools[0].function.name");
  ExpectRefused(kApi,
                R"("tools": [{"type": "function", "function": {"name": "f", "parameters": []}}])",
                "tools[0].function.parameters");
  ExpectRefused(kApi,
                R"("tools": [{"type": "function", "function": {"name": "f", "description": 1}}])",
                "tools[0].function.description");
  ExpectRefused(kApi, R"("tools": [{"type": "function", "function": {"name": "f"}},
                                   {"type": "function", "function": {"name": "f"}}])",
                "tools[1]", "a name of its own");
}

}  // namespace
}  // namespace verbatim::serve::testing
