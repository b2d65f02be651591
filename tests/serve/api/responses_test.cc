// Bodies of /v1/responses: items, instructions, and what the response repeats.
#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

constexpr Api kApi = Api::kResponses;

std::string Input(std::string_view input) { return R"("input": )" + std::string(input); }

void ExpectMessages(std::string_view fields, std::string_view made) {
  EXPECT_EQ(Accepted(kApi, fields).messages.dump(), Json::parse(made).dump()) << fields;
}

TEST(Responses, ItemsBecomeMessages) {
  ExpectMessages(Input("\"a\""), R"([{"role": "user", "content": "a"}])");
  ExpectMessages(R"("instructions": "i", "input": [{"role": "developer", "content": "d"},
                    {"role": "user", "content": [{"type": "input_text", "text": "a"}]}])",
                 R"([{"role": "system", "content": "i\n\nd"}, {"role": "user", "content": "a"}])");
  ExpectMessages(Input(R"([{"type": "message", "role": "user", "content": "a"},
        {"type": "reasoning", "id": "rs_1", "summary": [],
         "content": [{"type": "reasoning_text", "text": "r"}]},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
         "content": [{"type": "output_text", "text": "b", "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f",
         "arguments": "{\"x\": 1}", "status": "completed"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "o"},
        {"type": "function_call_output", "call_id": "c2",
         "output": [{"type": "input_text", "text": "p"}]},
        {"role": "user", "content": "c"}])"),
                 R"([{"role": "user", "content": "a"},
        {"role": "assistant", "reasoning_content": "r", "content": "b", "tool_calls": [
          {"type": "function", "id": "c1", "function": {"name": "f", "arguments": {"x": 1}}},
          {"type": "function", "id": "c2", "function": {"name": "g", "arguments": {}}}]},
        {"role": "tool", "content": "o", "tool_call_id": "c1"},
        {"role": "tool", "content": "p", "tool_call_id": "c2"},
        {"role": "user", "content": "c"}])");
  ExpectMessages(Input(R"([{"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"}, {"role": "assistant", "content": "c"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}])"),
                 R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
        {"role": "assistant", "content": "c"},
        {"role": "assistant", "reasoning_content": "s", "tool_calls": [
          {"type": "function", "id": "c", "function": {"name": "f", "arguments": {}}}],
         "content": ""}])");
}

TEST(Responses, WrongItemsAreRefusedByPlace) {
  ExpectRefused(kApi, Input("null"), "input", "no such field");
  ExpectRefused(kApi, Input("1"), "input");
  ExpectRefused(kApi, Input("[]"), "input", "at least one");
  ExpectRefused(kApi, Input("[1]"), "input[0]");
  ExpectRefused(kApi, Input("[{}]"), "input[0].type");
  ExpectRefused(kApi, Input(R"([{"type": "item_reference", "id": "x"}])"), "input[0].type",
                "item_reference");
  ExpectRefused(kApi, Input(R"([{"type": 1}])"), "input[0].type");
  ExpectRefused(kApi, Input(R"([{"role": "tool", "content": "a"}])"), "input[0].role");
  ExpectRefused(kApi, Input(R"([{"role": "user"}])"), "input[0].content");
  ExpectRefused(kApi, Input(R"([{"role": "user", "content": [{"type": "input_image"}]}])"),
                "input[0].content[0].type", "input_image");
  ExpectRefused(kApi, Input(R"([{"type": "function_call", "call_id": "c", "arguments": "{}"}])"),
                "input[0].name");
  ExpectRefused(kApi, Input(R"([{"type": "function_call", "call_id": "c", "name": "f",
                                 "arguments": "x"}])"),
                "input[0].arguments");
  ExpectRefused(kApi, Input(R"([{"type": "function_call_output", "call_id": "c"}])"),
                "input[0].output");
  ExpectRefused(kApi, Input(R"([{"type": "function_call_output", "output": "o"}])"),
                "input[0].call_id");
  // Nothing but thinking without text.
  ExpectRefused(kApi, Input(R"([{"type": "reasoning", "summary": []}])"), "input", "at least one");
  ExpectRefused(kApi, R"("instructions": ["a"])", "instructions");
}

TEST(Responses, FormatToolsAndLogprobs) {
  const AnswerRequest request = Accepted(kApi, R"(
      "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
      "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": true}],
      "include": ["message.output_text.logprobs", "reasoning.encrypted_content"],
      "top_logprobs": 3, "max_output_tokens": 9, "reasoning": {"effort": "none"})");
  EXPECT_EQ(request.constraint.kind, ConstraintKind::kJsonSchema);
  EXPECT_EQ(request.constraint.text, R"({"type":"object"})");
  EXPECT_EQ(request.tools.dump(),
            R"([{"type":"function","function":{"name":"f","parameters":{"type":"object"},)"
            R"("strict":true}}])");
  EXPECT_EQ(request.sampling.logprobs, 3);
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_EQ(request.enable_thinking, false);
  EXPECT_EQ(Accepted(kApi, R"("include": ["message.output_text.logprobs"])").sampling.logprobs, 0);
  EXPECT_EQ(
      Accepted(kApi, R"("text": {"format": {"type": "text"}, "verbosity": "low"})").constraint.kind,
      ConstraintKind::kNone);
  const AnswerRequest named = Accepted(kApi, R"("tools": [{"type": "function", "name": "f"}],
      "tool_choice": {"type": "function", "name": "f"})");
  EXPECT_EQ(named.tool_name, "f");
  ExpectRefused(kApi, R"("text": "a")", "text");
  ExpectRefused(kApi, R"("text": {"format": {"type": "json_schema"}})", "text.format.schema");
  ExpectRefused(kApi, R"("text": {"format": {"type": "x"}})", "text.format.type");
  ExpectRefused(kApi, R"("tools": [{"type": "file_search"}])", "tools[0].type");
  ExpectRefused(kApi, R"("tools": [{"type": "function"}])", "tools[0].name");
  ExpectRefused(kApi, R"("include": "a")", "include");
  ExpectRefused(kApi, R"("top_logprobs": 21)", "top_logprobs");
  ExpectRefused(kApi, R"("truncation": "auto")", "truncation");
  ExpectRefused(kApi, R"("prompt": {"id": "p"})", "prompt");
  ExpectRefused(kApi, R"("conversation": "c")", "conversation");
  ExpectRefused(kApi, R"("max_output_tokens": 0)", "max_output_tokens");
}

TEST(Responses, TheResponseRepeatsItsRequest) {
  const Json echoed =
      Accepted(kApi, R"("instructions": "i", "metadata": {"k": "v"}, "temperature": 0.1,
                        "tools": [{"type": "function", "name": "f"}], "tool_choice": "none",
                        "parallel_tool_calls": false, "max_output_tokens": 5)")
          .echoed;
  EXPECT_EQ(echoed["instructions"], "i");
  EXPECT_EQ(echoed["metadata"].dump(), R"({"k":"v"})");
  EXPECT_EQ(echoed["temperature"].dump(), "0.1");
  EXPECT_EQ(echoed["top_p"].dump(), "0.95");  // the model's own
  EXPECT_EQ(echoed["tools"].dump(), R"([{"type":"function","name":"f"}])");
  EXPECT_EQ(echoed["tool_choice"], "none");
  EXPECT_EQ(echoed["parallel_tool_calls"], false);
  EXPECT_EQ(echoed["max_output_tokens"], 5);
  EXPECT_EQ(echoed["store"], false);
}

}  // namespace
}  // namespace verbatim::serve::testing
