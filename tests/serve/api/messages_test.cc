// Bodies of Anthropic's /v1/messages: blocks, system, tools.
#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

constexpr Api kApi = Api::kMessages;

std::string Messages(std::string_view list) { return R"("messages": )" + std::string(list); }

void ExpectMessages(std::string_view fields, std::string_view made) {
  EXPECT_EQ(Accepted(kApi, fields).messages.dump(), Json::parse(made).dump()) << fields;
}

TEST(Messages, BlocksBecomeMessages) {
  ExpectMessages(R"("system": "s")",
                 R"([{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}])");
  ExpectMessages(R"("system": [{"type": "text", "text": "s"}, {"type": "text", "text": "t",
                               "cache_control": {"type": "ephemeral"}}])",
                 R"([{"role": "system", "content": "st"}, {"role": "user", "content": "Hi"}])");
  ExpectMessages(Messages(R"([{"role": "user", "content": [{"type": "text", "text": "a"},
                                                {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [
          {"type": "thinking", "thinking": "r", "signature": ""}, {"type": "text", "text": "c"},
          {"type": "tool_use", "id": "t1", "name": "f", "input": {"y": 1, "x": [2]}},
          {"type": "tool_use", "id": "t2", "name": "g"}]},
        {"role": "user", "content": [
          {"type": "tool_result", "tool_use_id": "t1", "content": "o"},
          {"type": "tool_result", "tool_use_id": "t2",
           "content": [{"type": "text", "text": "p"}, {"type": "text", "text": "q"}]},
          {"type": "text", "text": "d"}]}])"),
                 R"([{"role": "user", "content": "ab"},
        {"role": "assistant", "content": "c", "reasoning_content": "r", "tool_calls": [
          {"type": "function", "id": "t1", "function": {"name": "f", "arguments": {"y": 1, "x": [2]}}},
          {"type": "function", "id": "t2", "function": {"name": "g", "arguments": {}}}]},
        {"role": "tool", "content": "o", "tool_call_id": "t1"},
        {"role": "tool", "content": "pq", "tool_call_id": "t2"},
        {"role": "user", "content": "d"}])");
  ExpectMessages(Messages(R"([{"role": "user", "content": [
                     {"type": "tool_result", "tool_use_id": "t"}]}])"),
                 R"([{"role": "tool", "content": "", "tool_call_id": "t"}])");
}

TEST(Messages, WrongOnesAreRefusedByPlace) {
  ExpectRefused(kApi, Messages("null"), "messages");
  ExpectRefused(kApi, Messages("[]"), "messages", "at least one");
  ExpectRefused(kApi, Messages("[1]"), "messages[0]");
  ExpectRefused(kApi, Messages(R"([{"role": "system", "content": "a"}])"), "messages[0].role");
  ExpectRefused(kApi, Messages(R"([{"role": "user"}])"), "messages[0].content");
  ExpectRefused(kApi, Messages(R"([{"role": "user", "content": 1}])"), "messages[0].content");
  ExpectRefused(kApi, Messages(R"([{"role": "user", "content": []}])"), "messages[0].content");
  ExpectRefused(kApi, Messages(R"([{"role": "user", "content": [{"type": "image"}]}])"),
                "messages[0].content[0].type", "received \"image\"");
  ExpectRefused(kApi, Messages(R"([{"role": "user", "content": [{"type": "text"}]}])"),
                "messages[0].content[0].text");
  ExpectRefused(kApi, Messages(R"([{"role": "user", "content": [{"type": "tool_result"}]}])"),
                "messages[0].content[0].tool_use_id");
  ExpectRefused(kApi, Messages(R"([{"role": "user", "content": [{"type": "tool_result",
                  "tool_use_id": "t", "content": [{"type": "image"}]}]}])"),
                "messages[0].content[0].content[0].type");
  ExpectRefused(kApi, Messages(R"([{"role": "assistant", "content": [{"type": "tool_result"}]}])"),
                "messages[0].content[0].type");
  ExpectRefused(kApi, Messages(R"([{"role": "assistant", "content": [{"type": "tool_use",
                  "id": "t", "name": "f", "input": "{}"}]}])"),
                "messages[0].content[0].input", "an object");
  ExpectRefused(kApi, R"("system": 1)", "system");
  ExpectRefused(kApi, R"("system": [{"type": "image"}])", "system[0].type");
  ExpectRefused(kApi, R"("max_tokens": null)", "max_tokens", "no such field");
  ExpectRefused(kApi, R"("max_tokens": 0)", "max_tokens");
  ExpectRefused(kApi, R"("stop_sequences": [""])", "stop_sequences[0]");
}

TEST(Messages, ToolsAndOtherFields) {
  const std::string tools =
      R"("tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}},
                   {"type": "custom", "name": "g", "input_schema": {}}])";
  const AnswerRequest request = Accepted(kApi, tools + R"(, "stop_sequences": ["x"],
      "tool_choice": {"type": "tool", "name": "g", "disable_parallel_tool_use": true},
      "thinking": {"type": "enabled", "budget_tokens": 2000})");
  EXPECT_EQ(request.tools.dump(),
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":)"
            R"({"type":"object"}}},{"type":"function","function":{"name":"g","parameters":{}}}])");
  EXPECT_EQ(request.tool_choice, ToolChoice::kNamed);
  EXPECT_EQ(request.tool_name, "g");
  EXPECT_FALSE(request.parallel_tool_calls);
  EXPECT_EQ(request.enable_thinking, true);
  EXPECT_EQ(request.max_tokens, 10);
  EXPECT_THAT(request.stop, ::testing::ElementsAre("x"));
  const auto choice = [&](std::string_view type) {
    return Accepted(kApi, tools + R"(, "tool_choice": {"type": ")" + std::string(type) + "\"}")
        .tool_choice;
  };
  EXPECT_EQ(choice("auto"), ToolChoice::kAuto);
  EXPECT_EQ(choice("any"), ToolChoice::kRequired);
  EXPECT_EQ(choice("none"), ToolChoice::kNone);
  EXPECT_EQ(Accepted(kApi, R"("output_config": {"format": {"type": "json_schema",
                              "schema": {"type": "object"}}, "effort": "low"})")
                .constraint.kind,
            ConstraintKind::kJsonSchema);
  ExpectRefused(kApi, R"("tools": [{"type": "web_search_20250305", "name": "web_search"}])",
                "tools[0].type");
  ExpectRefused(kApi, R"("output_config": 1)", "output_config");
  ExpectRefused(kApi, R"("output_config": {"effort": "none"})", "output_config.effort");
  ExpectRefused(kApi, R"("stop_sequences": "x")", "stop_sequences", "a list of strings");
  ExpectRefused(kApi, R"("tools": [{"input_schema": {}}])", "tools[0].name");
  ExpectRefused(kApi, R"("tools": [{"name": "f", "input_schema": 1}])", "tools[0].input_schema");
  ExpectRefused(kApi, tools + R"(, "tool_choice": "auto")", "tool_choice", "an object");
  ExpectRefused(kApi, tools + R"(, "tool_choice": {"type": "tool", "name": "h"})",
                "tool_choice.name");
  ExpectRefused(kApi, tools + R"(, "tool_choice": {"type": "required"})", "tool_choice.type");
}

}  // namespace
}  // namespace verbatim::serve::testing
