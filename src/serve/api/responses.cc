// The body of POST /v1/responses. Not its answer (responses_writer.cc).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "serve/api/constraint_fields.h"
#include "serve/api/json_text.h"
#include "serve/api/message_fields.h"
#include "serve/api/request_fields.h"
#include "serve/api/tool_fields.h"

namespace verbatim::serve {
namespace {

constexpr std::array<std::string_view, 4> kTextTypes = {"input_text", "output_text", "text",
                                                        "refusal"};
constexpr std::array<std::string_view, 3> kReasoningTypes = {"reasoning_text", "summary_text",
                                                             "text"};

// Items to messages: what the assistant thought, said and called in a row is one message there.
class ItemReader {
 public:
  explicit ItemReader(AnswerRequest& request) : messages_(request.messages) {}

  void Add(const FieldReader& item) {
    const std::string type = item.String("type").value_or(item.Has("role") ? "message" : "");
    if (type == "message") return Message(item);
    if (type == "reasoning") return Reasoning(item);
    if (type == "function_call") return Call(item);
    if (type == "function_call_output") return Output(item);
    if (type.empty()) return item.Missing("type", kExpected);
    item.Unsupported("type", kExpected);
  }

  // An answer of the assistant ends here.
  void Flush() {
    if (assistant_.is_null()) return;
    if (!assistant_.contains("content")) assistant_["content"] = "";
    AppendMessage(messages_, std::move(assistant_));
    assistant_ = nullptr;
  }

 private:
  static constexpr std::string_view kExpected =
      R"("message", "reasoning", "function_call" or "function_call_output")";

  Json& Assistant() {
    if (assistant_.is_null()) assistant_ = {{"role", "assistant"}};
    return assistant_;
  }

  void Message(const FieldReader& item) {
    constexpr std::array<std::string_view, 4> kRoles = {"system", "developer", "user", "assistant"};
    item.Missing("role", R"("system", "developer", "user" or "assistant")");
    const auto role = item.Word("role", kRoles);
    item.Missing("content", "a string or a list of parts");
    const auto text = ReadText(item, "content", kTextTypes);
    if (!role || !text) return;
    if (kRoles[*role] == "assistant") {
      // A second text, or one behind calls, is an answer of its own.
      if (!assistant_.is_null() &&
          (assistant_.contains("content") || assistant_.contains("tool_calls"))) {
        Flush();
      }
      Assistant()["content"] = *text;
      return;
    }
    Flush();
    AppendMessage(messages_, {{"role", kRoles[*role] == "developer" ? "system" : kRoles[*role]},
                              {"content", *text}});
  }

  void Reasoning(const FieldReader& item) {
    std::string text = ReadText(item, "content", kReasoningTypes).value_or("");
    if (text.empty()) text = ReadText(item, "summary", kReasoningTypes).value_or("");
    if (!assistant_.is_null()) Flush();  // thinking comes first
    if (!text.empty()) Assistant()["reasoning_content"] = text;
  }

  void Call(const FieldReader& item) {
    item.Missing("name", "a string");
    item.Missing("call_id", "a string");
    Assistant()["tool_calls"].push_back(ToolCallMessage(item.String("call_id").value_or(""),
                                                        item.String("name").value_or(""),
                                                        ReadArguments(item, "arguments")));
  }

  void Output(const FieldReader& item) {
    Flush();
    item.Missing("call_id", "a string");
    item.Missing("output", "a string or a list of parts");
    AppendMessage(messages_, {{"role", "tool"},
                              {"content", ReadText(item, "output", kTextTypes).value_or("")},
                              {"tool_call_id", item.String("call_id").value_or("")}});
  }

  Json& messages_;
  Json assistant_ = nullptr;
};

void ReadInput(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  request.messages = Json::array();
  if (const auto instructions = body.String("instructions")) {
    AppendMessage(request.messages, {{"role", "system"}, {"content", *instructions}});
  }
  body.Missing("input", "a string or a list of items");
  const Json* input = body.Find("input");
  if (input == nullptr) return;
  if (input->is_string()) {
    return AppendMessage(request.messages, {{"role", "user"}, {"content", *input}});
  }
  if (!input->is_array()) return body.Fault("input", "a string or a list of items");
  if (input->empty()) return body.Fault("input", "at least one item");
  if (body.List("input", static_cast<size_t>(limits.max_messages)) == nullptr) return;
  ItemReader items(request);
  for (size_t i = 0; i < input->size() && body.ok(); ++i) {
    if (const auto item = body.Element("input", *input, i)) items.Add(*item);
  }
  if (body.ok()) items.Flush();
  if (body.ok()) CheckNotEmpty(body, "input", request.messages);
}

// Log probabilities are asked for by a word in `include`; the other words are about tools that this
// server does not have, or about encrypted reasoning, which it need not send.
void ReadLogprobs(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  constexpr size_t kMaxWords = 64;
  const auto top = body.Integer("top_logprobs", 0, limits.max_top_logprobs);
  const std::vector<std::string> include = body.Texts("include", kMaxWords, kMaxWords, false);
  const bool included = std::ranges::find(include, "message.output_text.logprobs") != include.end();
  if (included || top.value_or(0) > 0) {
    request.sampling.logprobs = static_cast<int>(top.value_or(0));
  }
}

// What the response object repeats of its request.
Json Echoed(const Json& body, const AnswerRequest& request) {
  const auto given = [&](const char* key, const Json& absent) {
    const auto found = body.find(key);
    return found == body.end() || found->is_null() ? absent : *found;
  };
  Json echoed;
  echoed["instructions"] = given("instructions", nullptr);
  echoed["max_output_tokens"] = given("max_output_tokens", nullptr);
  echoed["metadata"] = given("metadata", Json::object());
  echoed["parallel_tool_calls"] = request.parallel_tool_calls;
  echoed["previous_response_id"] = nullptr;
  echoed["reasoning"] = given("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  echoed["store"] = false;
  echoed["temperature"] = given("temperature", JsonFloat(request.sampling.temperature));
  echoed["text"] = given("text", {{"format", {{"type", "text"}}}});
  echoed["tool_choice"] = given("tool_choice", "auto");
  echoed["tools"] = given("tools", Json::array());
  echoed["top_p"] = given("top_p", JsonFloat(request.sampling.top_p));
  echoed["truncation"] = "disabled";
  echoed["user"] = given("user", nullptr);
  return echoed;
}

void ReadOthers(const FieldReader& body) {
  body.Object("text");
  body.Object("metadata");
  body.String("user");
  constexpr std::array<std::string_view, 1> kDisabled = {"disabled"};
  if (body.Has("truncation") && body.String("truncation") != kDisabled[0]) {
    body.Unsupported("truncation", "\"disabled\": no prompt is shortened here");
  }
  if (body.Has("prompt")) body.Unsupported("prompt", "none: prompts are not stored", "input");
}

}  // namespace

ParsedRequest ParseResponses(const Json& body, const ApiLimits& limits) {
  FirstFault fault;
  AnswerRequest request;
  request.api = Api::kResponses;
  if (!body.is_object()) {
    fault.Set("", "a JSON object", DescribeJson(body));
    return fault.error();
  }
  const FieldReader reader(body, "", fault);
  ReadCommon(reader, limits, request);
  ReadInput(reader, limits, request);
  ReadMaxTokens(reader, {"max_output_tokens"}, limits, request);
  ReadStop(reader, "stop", limits, request);
  ReadLogprobs(reader, limits, request);
  ReadThinking(reader, request);
  ReadTools(reader, ToolForm::kResponses, limits, request);
  ReadConstraint(reader, request);
  ReadOthers(reader);
  CheckTogether(reader, request);
  if (fault.any()) return fault.error();
  request.echoed = Echoed(body, request);
  return request;
}

}  // namespace verbatim::serve
