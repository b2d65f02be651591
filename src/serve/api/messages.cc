// The body of Anthropic's POST /v1/messages. Not its answer (messages_writer.cc).
#include <fmt/format.h>

#include <array>

#include "serve/api/constraint_fields.h"
#include "serve/api/message_fields.h"
#include "serve/api/request_fields.h"
#include "serve/api/tool_fields.h"

namespace verbatim::serve {
namespace {

constexpr std::array<std::string_view, 1> kTextTypes = {"text"};
constexpr size_t kMaxBlocks = 65536;  // of one message

std::string BlockType(const FieldReader& block, std::string_view expected) {
  block.Missing("type", expected);
  return block.String("type").value_or("");
}

// Texts between the results of tools are messages of the user, each at its place.
void ReadUserBlocks(const FieldReader& message, const Json& blocks, Json& messages) {
  constexpr std::string_view kExpected = R"("text" or "tool_result")";
  Json user;
  const auto flush = [&] {
    if (!user.is_null()) AppendMessage(messages, std::move(user));
    user = nullptr;
  };
  for (size_t i = 0; i < blocks.size() && message.ok(); ++i) {
    const auto block = message.Element("content", blocks, i);
    if (!block) return;
    const std::string type = BlockType(*block, kExpected);
    if (type == "text") {
      block->Missing("text", "a string");
      if (user.is_null()) user = {{"role", "user"}, {"content", ""}};
      user["content"].get_ref<std::string&>() += block->String("text").value_or("");
    } else if (type == "tool_result") {
      flush();
      block->Missing("tool_use_id", "a string");
      AppendMessage(messages, {{"role", "tool"},
                               {"content", ReadText(*block, "content", kTextTypes).value_or("")},
                               {"tool_call_id", block->String("tool_use_id").value_or("")}});
    } else {
      block->Unsupported("type", kExpected, "text: this server reads nothing else");
    }
  }
  flush();
}

void ReadAssistantBlocks(const FieldReader& message, const Json& blocks, Json& messages) {
  constexpr std::string_view kExpected = R"("text", "thinking" or "tool_use")";
  std::string text;
  std::string reasoning;
  Json calls = Json::array();
  for (size_t i = 0; i < blocks.size() && message.ok(); ++i) {
    const auto block = message.Element("content", blocks, i);
    if (!block) return;
    const std::string type = BlockType(*block, kExpected);
    if (type == "text") {
      block->Missing("text", "a string");
      text += block->String("text").value_or("");
    } else if (type == "thinking") {
      block->Missing("thinking", "a string");
      reasoning += block->String("thinking").value_or("");
    } else if (type == "tool_use") {
      block->Missing("id", "a string");
      block->Missing("name", "a string");
      const auto input = block->Object("input");
      calls.push_back(ToolCallMessage(block->String("id").value_or(""),
                                      block->String("name").value_or(""),
                                      input ? input->json() : Json::object()));
    } else {
      block->Unsupported("type", kExpected);
    }
  }
  Json made = {{"role", "assistant"}, {"content", std::move(text)}};
  if (!reasoning.empty()) made["reasoning_content"] = std::move(reasoning);
  if (!calls.empty()) made["tool_calls"] = std::move(calls);
  AppendMessage(messages, std::move(made));
}

void ReadMessage(const FieldReader& message, Json& messages) {
  constexpr std::array<std::string_view, 2> kRoles = {"user", "assistant"};
  message.Missing("role", R"("user" or "assistant")");
  const auto role = message.Word("role", kRoles);
  message.Missing("content", "a string or a list of blocks");
  const Json* content = message.Find("content");
  if (!role || content == nullptr) return;
  if (content->is_string()) {
    return AppendMessage(messages, {{"role", kRoles[*role]}, {"content", *content}});
  }
  if (!content->is_array()) return message.Fault("content", "a string or a list of blocks");
  if (message.List("content", kMaxBlocks) == nullptr) return;
  if (content->empty()) return message.Fault("content", "at least one block");
  if (*role == 0) return ReadUserBlocks(message, *content, messages);
  ReadAssistantBlocks(message, *content, messages);
}

void ReadMessageList(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  request.messages = Json::array();
  if (const auto system = ReadText(body, "system", kTextTypes)) {
    AppendMessage(request.messages, {{"role", "system"}, {"content", *system}});
  }
  body.Missing("messages", "a list of messages");
  const Json* list = body.List("messages", static_cast<size_t>(limits.max_messages));
  if (list == nullptr) return;
  CheckNotEmpty(body, "messages", *list);
  for (size_t i = 0; i < list->size() && body.ok(); ++i) {
    if (const auto message = body.Element("messages", *list, i)) {
      ReadMessage(*message, request.messages);
    }
  }
  // A last message of the assistant asks for its continuation, which a template that ends each turn
  // does not give.
  if (body.ok() && request.messages.back()["role"] == "assistant") {
    body.fault().SetUnsupported(fmt::format("messages[{}].role", list->size() - 1),
                                "\"user\" in the last message", "\"assistant\"",
                                "leaving that message out");
  }
}

// Its format is a constraint; its effort says nothing about thinking, which has a field of its own.
void ReadOutputConfig(const FieldReader& body) {
  constexpr std::array<std::string_view, 5> kEfforts = {"low", "medium", "high", "xhigh", "max"};
  if (const auto config = body.Object("output_config")) config->Word("effort", kEfforts);
}

}  // namespace

ParsedRequest ParseMessages(const Json& body, const ApiLimits& limits) {
  FirstFault fault;
  AnswerRequest request;
  request.api = Api::kMessages;
  if (!body.is_object()) {
    fault.Set("", "a JSON object", DescribeJson(body));
    return fault.error();
  }
  const FieldReader reader(body, "", fault);
  ReadCommon(reader, limits, request);
  ReadMessageList(reader, limits, request);
  reader.Missing("max_tokens", "an integer of at least 1");
  ReadMaxTokens(reader, {"max_tokens"}, limits, request);
  ReadStop(reader, "stop_sequences", limits, request);
  ReadOutputConfig(reader);
  ReadThinking(reader, request);
  ReadTools(reader, ToolForm::kMessages, limits, request);
  ReadConstraint(reader, request);
  CheckTogether(reader, request);
  if (fault.any()) return fault.error();
  return request;
}

}  // namespace verbatim::serve
