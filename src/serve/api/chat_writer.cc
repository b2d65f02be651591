// Answers of POST /v1/chat/completions: chat.completion and chat.completion.chunk. Not its request
// (chat_completions.cc).
#include "serve/api/openai_writer.h"

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

class ChatWriter final : public OpenAiWriter {
 public:
  ChatWriter(const AnswerRequest& request, AnswerHead head)
      : OpenAiWriter(request, std::move(head),
                     {.id_prefix = "chatcmpl-",
                      .whole = "chat.completion",
                      .chunk = "chat.completion.chunk"}),
        choices_(ends_.size()) {}

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

 private:
  Json EmptyChoice(int index) const override { return ChoiceJson(index, Json::object()); }

  Json TakeChoice(int index) override {
    Choice& choice = choices_[static_cast<size_t>(index)];
    Json json;
    json["index"] = index;
    json["message"] = MessageJson(index, choice);
    json["logprobs"] = nullptr;
    if (logprobs_) {
      json["logprobs"] = {{"content", std::move(choice.logprobs)}, {"refusal", nullptr}};
    }
    return json;
  }

  Json TakeTokens(int index) override {
    return std::move(choices_[static_cast<size_t>(index)].tokens);
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

  std::vector<Choice> choices_;
};

}  // namespace

std::unique_ptr<AnswerWriter> MakeChatWriter(const AnswerRequest& request, AnswerHead head) {
  return std::make_unique<ChatWriter>(request, std::move(head));
}

}  // namespace verbatim::serve
