// The body of POST /v1/chat/completions. Not its answer (chat_writer.cc).
#include <fmt/format.h>

#include <array>

#include "serve/api/constraint_fields.h"
#include "serve/api/message_fields.h"
#include "serve/api/request_fields.h"
#include "serve/api/tool_fields.h"

namespace verbatim::serve {
namespace {

constexpr std::array<std::string_view, 2> kTextTypes = {"text", "refusal"};
constexpr size_t kMaxToolCalls = 1024;  // of one message

void ReadToolCalls(const FieldReader& message, Json& made) {
  const Json* calls = message.List("tool_calls", kMaxToolCalls);
  if (calls == nullptr || calls->empty()) return;
  Json list = Json::array();
  for (size_t i = 0; i < calls->size() && message.ok(); ++i) {
    const auto call = message.Element("tool_calls", *calls, i);
    if (!call) return;
    const auto type = call->String("type");
    if (type && *type != "function") return call->Unsupported("type", "\"function\"");
    call->Missing("function", "an object");
    const auto function = call->Object("function");
    if (!function) return;
    function->Missing("name", "a string");
    list.push_back(ToolCallMessage(call->String("id").value_or(""),
                                   function->String("name").value_or(""),
                                   ReadArguments(*function, "arguments")));
  }
  made["tool_calls"] = std::move(list);
}

void ReadAssistant(const FieldReader& message, Json& made) {
  for (const std::string_view key : {"reasoning_content", "reasoning"}) {
    if (made.contains("reasoning_content")) break;
    if (const auto reasoning = message.String(key)) made["reasoning_content"] = *reasoning;
  }
  ReadToolCalls(message, made);
  if (message.Has("function_call")) message.Unsupported("function_call", "none", "tool_calls");
  if (message.Has("audio")) message.Unsupported("audio", "none: this server reads text");
}

Json ReadMessage(const FieldReader& message) {
  constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                      "tool"};
  message.Missing("role", R"("system", "developer", "user", "assistant" or "tool")");
  const auto role = message.Word("role", kRoles);
  if (!role) return {};
  const std::string_view name = kRoles[*role] == "developer" ? "system" : kRoles[*role];
  const bool assistant = name == "assistant";
  Json made;
  made["role"] = name;
  if (!assistant) message.Missing("content", "a string or a list of parts");
  made["content"] = ReadText(message, "content", kTextTypes).value_or("");
  if (const auto author = message.String("name")) made["name"] = *author;
  if (assistant) ReadAssistant(message, made);
  if (name == "tool") {
    if (const auto id = message.String("tool_call_id")) made["tool_call_id"] = *id;
  }
  return made;
}

void ReadChatMessages(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  body.Missing("messages", "a list of messages");
  request.messages = Json::array();
  const Json* list = body.List("messages", static_cast<size_t>(limits.max_messages));
  if (list == nullptr) return;
  for (size_t i = 0; i < list->size() && body.ok(); ++i) {
    const auto message = body.Element("messages", *list, i);
    if (!message) return;
    Json made = ReadMessage(*message);
    if (body.ok()) AppendMessage(request.messages, std::move(made));
  }
  CheckNotEmpty(body, "messages", request.messages);
}

// A bool and a number, unlike those of completions.
void ReadLogprobs(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  const bool logprobs = body.Bool("logprobs").value_or(false);
  const auto top = body.Integer("top_logprobs", 0, limits.max_top_logprobs);
  if (logprobs) {
    request.sampling.logprobs = static_cast<int>(top.value_or(0));
  } else if (top.value_or(0) > 0) {
    body.Fault("top_logprobs", "0 where logprobs is not true", "\"logprobs\": true");
  }
}

}  // namespace

ParsedRequest ParseChatCompletions(const Json& body, const ApiLimits& limits) {
  FirstFault fault;
  AnswerRequest request;
  request.api = Api::kChatCompletions;
  if (!body.is_object()) {
    fault.Set("", "a JSON object", DescribeJson(body));
    return fault.error();
  }
  const FieldReader reader(body, "", fault);
  ReadCommon(reader, limits, request);
  ReadChatMessages(reader, limits, request);
  ReadMaxTokens(reader, {"max_completion_tokens", "max_tokens", "n_predict"}, limits, request);
  ReadStop(reader, "stop", limits, request);
  ReadChoices(reader, limits, request);
  ReadLogprobs(reader, limits, request);
  ReadThinking(reader, request);
  ReadTools(reader, ToolForm::kChat, limits, request);
  ReadConstraint(reader, request);
  CheckTogether(reader, request);
  if (fault.any()) return fault.error();
  return request;
}

}  // namespace verbatim::serve
