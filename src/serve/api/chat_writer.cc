// Answers of POST /v1/chat/completions: chat.completion and chat.completion.chunk. Not its request
// (chat_completions.cc).
#include <fmt/format.h>

#include "serve/api/writer_parts.h"

namespace verbatim::serve {
namespace {

struct ToolCall {
  std::string name;
  std::string arguments;
};

// A choice of a whole answer, as far as it is known.
struct Choice {
  std::string reasoning;
  std::string content;
  std::vector<ToolCall> calls;
  Json logprobs = Json::array();
  Json tokens = Json::array();
};

class ChatWriter final : public WriterBase {
 public:
  ChatWriter(const AnswerRequest& request, AnswerHead head)
      : WriterBase(request, std::move(head)), choices_(ends_.size()) {}

  std::string Begin() override {
    std::string out;
    for (int i = 0; stream_ && i < num_choices(); ++i) {
      out += Chunk(ChoiceJson(i, {{"role", "assistant"}, {"content", ""}}));
    }
    return out;
  }

  std::string Part(const AnswerPart& part) override {
    if (!stream_) {
      Keep(part);
      return {};
    }
    std::vector<Json> deltas;
    for (const AnswerDelta& delta : Joined(part.deltas)) {
      deltas.push_back(DeltaJson(part.choice, delta));
    }
    const bool report = !part.tokens.empty() && (logprobs_ || token_details_);
    if (deltas.empty() && report) deltas.push_back(Json::object());
    std::string out;
    for (size_t i = 0; i < deltas.size(); ++i) {
      Json choice = ChoiceJson(part.choice, std::move(deltas[i]));
      if (i == 0 && report) Report(part, choice);
      out += Chunk(std::move(choice));
    }
    return out;
  }

  std::string EndChoice(const ChoiceEnd& end) override {
    SetEnd(end);
    if (!stream_) return {};
    Json choice = ChoiceJson(end.choice, Json::object());
    Finish(end, choice);
    Json body = Body("chat.completion.chunk", Json::array({std::move(choice)}));
    AddTimings(body);
    return SseData(body);
  }

  std::string End() override {
    if (!stream_) return DumpJson(Whole());
    std::string out;
    if (include_usage_) {
      Json body = Body("chat.completion.chunk", Json::array());
      body["usage"] = OpenAiUsageJson();
      AddMetrics(body);
      out = SseData(body);
    }
    return out + "data: [DONE]\n\n";
  }

  std::string Fail(const ApiError& error) override {
    const std::string json = ErrorJson(error, api_, head_.id);
    return stream_ ? fmt::format("data: {}\n\n", json) : json;
  }

 private:
  Json Body(std::string_view object, Json choices) const {
    Json body;
    body["id"] = "chatcmpl-" + head_.id;
    body["object"] = object;
    body["created"] = head_.created;
    body["model"] = head_.model;
    body["system_fingerprint"] = head_.system_fingerprint;
    body["choices"] = std::move(choices);
    if (stream_ && include_usage_) body["usage"] = nullptr;
    return body;
  }

  std::string Chunk(Json choice) const {
    return SseData(Body("chat.completion.chunk", Json::array({std::move(choice)})));
  }

  static Json ChoiceJson(int index, Json delta) {
    Json choice;
    choice["index"] = index;
    choice["delta"] = std::move(delta);
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = nullptr;
    return choice;
  }

  Json CallJson(int choice, int call, std::string_view name, std::string_view arguments) const {
    Json json;
    json["id"] = ToolCallId("call_", head_, choice, call);
    json["type"] = "function";
    json["function"] = {{"name", name}, {"arguments", arguments}};
    return json;
  }

  Json DeltaJson(int choice, const AnswerDelta& delta) const {
    Json call;
    switch (delta.kind) {
      case AnswerDelta::Kind::kReasoning:
        return {{"reasoning_content", delta.text}};
      case AnswerDelta::Kind::kContent:
        return {{"content", delta.text}};
      case AnswerDelta::Kind::kToolCall:
        call["index"] = delta.tool_call;
        call.update(CallJson(choice, delta.tool_call, delta.text, ""));
        break;
      case AnswerDelta::Kind::kToolCallArguments:
        call["index"] = delta.tool_call;
        call["function"] = {{"arguments", delta.text}};
        break;
    }
    Json json;
    json["tool_calls"] = Json::array({std::move(call)});
    return json;
  }

  void Report(const AnswerPart& part, Json& choice) const {
    if (logprobs_) {
      Json list = Json::array();
      for (const ReportedToken& token : part.tokens) list.push_back(LogprobJson(token));
      choice["logprobs"] = {{"content", std::move(list)}, {"refusal", nullptr}};
    }
    if (token_details_) {
      Json list = Json::array();
      for (const ReportedToken& token : part.tokens) list.push_back(TokenJson(token));
      choice["verbatim"]["tokens"] = std::move(list);
    }
  }

  void Finish(const ChoiceEnd& end, Json& choice) const {
    choice["finish_reason"] = FinishReasonWord(end);
    choice["stop_reason"] = StopReasonJson(end);
    choice["verbatim"] = VerbatimJson(end);
    if (!single()) choice["verbatim"]["timings"] = TimingsJson(end);
  }

  void Keep(const AnswerPart& part) {
    Choice& choice = choices_[ChoiceIndex(part.choice)];
    for (const AnswerDelta& delta : part.deltas) {
      switch (delta.kind) {
        case AnswerDelta::Kind::kReasoning:
          choice.reasoning += delta.text;
          break;
        case AnswerDelta::Kind::kContent:
          choice.content += delta.text;
          break;
        case AnswerDelta::Kind::kToolCall:
          choice.calls.push_back({.name = delta.text, .arguments = {}});
          break;
        case AnswerDelta::Kind::kToolCallArguments:
          choice.calls.back().arguments += delta.text;
          break;
      }
    }
    for (const ReportedToken& token : part.tokens) {
      if (logprobs_) choice.logprobs.push_back(LogprobJson(token));
      if (token_details_) choice.tokens.push_back(TokenJson(token));
    }
  }

  Json MessageJson(int index, const Choice& choice) const {
    Json message;
    message["role"] = "assistant";
    const bool null_content = choice.content.empty() && !choice.calls.empty();
    message["content"] = null_content ? Json(nullptr) : Json(choice.content);
    message["refusal"] = nullptr;
    if (!choice.reasoning.empty()) message["reasoning_content"] = choice.reasoning;
    if (!choice.calls.empty()) {
      Json calls = Json::array();
      for (const ToolCall& call : choice.calls) {
        calls.push_back(CallJson(index, static_cast<int>(calls.size()), call.name, call.arguments));
      }
      message["tool_calls"] = std::move(calls);
    }
    return message;
  }

  Json Whole() {
    Json list = Json::array();
    for (int i = 0; i < num_choices(); ++i) {
      Choice& choice = choices_[static_cast<size_t>(i)];
      Json json;
      json["index"] = i;
      json["message"] = MessageJson(i, choice);
      json["logprobs"] = nullptr;
      if (logprobs_) {
        json["logprobs"] = {{"content", std::move(choice.logprobs)}, {"refusal", nullptr}};
      }
      Finish(*ends_[static_cast<size_t>(i)], json);
      if (token_details_) json["verbatim"]["tokens"] = std::move(choice.tokens);
      list.push_back(std::move(json));
    }
    Json body = Body("chat.completion", std::move(list));
    body["usage"] = OpenAiUsageJson();
    AddMetrics(body);
    AddTimings(body);
    return body;
  }

  std::vector<Choice> choices_;
};

}  // namespace

std::unique_ptr<AnswerWriter> MakeChatWriter(const AnswerRequest& request, AnswerHead head) {
  return std::make_unique<ChatWriter>(request, std::move(head));
}

}  // namespace verbatim::serve
