// Answers of Anthropic's POST /v1/messages: a message, and the events that build it. Not its
// request (messages.cc).
#include <fmt/format.h>

#include "serve/api/writer_parts.h"

namespace verbatim::serve {
namespace {

using Kind = AnswerDelta::Kind;

struct Block {
  Kind kind = Kind::kContent;
  std::string text = {};  // kToolCall: the arguments
  std::string name = {};
  int call = 0;
};

class MessagesWriter final : public WriterBase {
 public:
  MessagesWriter(const AnswerRequest& request, AnswerHead head)
      : WriterBase(request, std::move(head)) {}

  std::string Begin() override {
    if (!stream_) return {};
    Json message = Head();
    message["content"] = Json::array();
    message["stop_reason"] = nullptr;
    message["stop_sequence"] = nullptr;
    message["usage"] = UsageJson();
    return Event("message_start", {{"message", std::move(message)}});
  }

  std::string Part(const AnswerPart& part) override {
    if (token_details_) {
      for (const ReportedToken& token : part.tokens) tokens_.push_back(TokenJson(token));
    }
    std::string out;
    for (const AnswerDelta& delta : Joined(part.deltas)) Apply(delta, out);
    return out;
  }

  std::string EndChoice(const ChoiceEnd& end) override {
    SetEnd(end);
    std::string out;
    Close(out);
    return out;
  }

  std::string End() override {
    if (!stream_) return DumpJson(Whole());
    Json event;
    event["delta"] = {{"stop_reason", StopReason()}, {"stop_sequence", StopReasonJson(End0())}};
    event["usage"] = UsageJson();
    AddExtensions(event);
    return Event("message_delta", event) + Event("message_stop", Json::object());
  }

  std::string Fail(const ApiError& error) override {
    const std::string json = ErrorJson(error, api_, head_.id);
    return stream_ ? fmt::format("event: error\ndata: {}\n\n", json) : json;
  }

 private:
  static std::string Event(std::string_view type, const Json& fields) {
    Json event;
    event["type"] = type;
    event.update(fields);
    return SseEvent(type, event);
  }

  Json Head() const {
    Json json;
    json["id"] = "msg_" + head_.id;
    json["type"] = "message";
    json["role"] = "assistant";
    json["model"] = head_.model;
    json["system_fingerprint"] = head_.system_fingerprint;
    return json;
  }

  // Anthropic's input_tokens are those that the cache did not have.
  Json UsageJson() const {
    const Usage usage = TotalUsage();
    Json json;
    json["input_tokens"] = usage.prompt - usage.cached;
    json["cache_creation_input_tokens"] = 0;
    json["cache_read_input_tokens"] = usage.cached;
    json["output_tokens"] = usage.completion;
    json["output_tokens_details"] = {{"thinking_tokens", usage.reasoning}};
    return json;
  }

  std::string_view StopReason() const {
    const ChoiceEnd& end = End0();
    if (end.finish_reason == FinishReason::kLength) return "max_tokens";
    if (end.has_matched_stop) return "stop_sequence";
    return end.called_tools ? "tool_use" : "end_turn";
  }

  void AddExtensions(Json& json) {
    json["verbatim"] = VerbatimJson(End0());
    if (token_details_) json["verbatim"]["tokens"] = std::move(tokens_);
    AddMetrics(json);
    AddTimings(json);
  }

  Json OpenedJson(const Block& block) const {
    switch (block.kind) {
      case Kind::kReasoning:
        return {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
      case Kind::kContent:
        return {{"type", "text"}, {"text", ""}};
      default:
        return {{"type", "tool_use"},
                {"id", ToolCallId("toolu_", head_, 0, block.call)},
                {"name", block.name},
                {"input", Json::object()}};
    }
  }

  Json BlockJson(const Block& block) const {
    Json json = OpenedJson(block);
    if (block.kind == Kind::kReasoning) {
      json["thinking"] = block.text;
    } else if (block.kind == Kind::kContent) {
      json["text"] = block.text;
    } else if (auto parsed = ParseBody(block.text, {}); std::holds_alternative<Json>(parsed)) {
      // Arguments that max_tokens cut off are no JSON: such a call has none here, and its pieces
      // are in the stream alone.
      auto& input = std::get<Json>(parsed);
      if (input.is_object()) json["input"] = std::move(input);
    }
    return json;
  }

  void Apply(const AnswerDelta& delta, std::string& out) {
    const Kind kind = delta.kind == Kind::kToolCallArguments ? Kind::kToolCall : delta.kind;
    if (!open_ || blocks_.back().kind != kind || delta.kind == Kind::kToolCall) {
      Close(out);
      blocks_.push_back({.kind = kind, .call = delta.tool_call});
      open_ = true;
      if (delta.kind == Kind::kToolCall) blocks_.back().name = delta.text;
      if (stream_) {
        out += Event("content_block_start", {{"index", blocks_.size() - 1},
                                             {"content_block", OpenedJson(blocks_.back())}});
      }
      if (delta.kind == Kind::kToolCall) return;
    }
    blocks_.back().text += delta.text;
    if (stream_) out += DeltaEvent(delta);
  }

  std::string DeltaEvent(const AnswerDelta& delta) {
    Json json;
    if (delta.kind == Kind::kReasoning) {
      json = {{"type", "thinking_delta"}, {"thinking", delta.text}};
    } else if (delta.kind == Kind::kContent) {
      json = {{"type", "text_delta"}, {"text", delta.text}};
    } else {
      json = {{"type", "input_json_delta"}, {"partial_json", delta.text}};
    }
    Json event = {{"index", blocks_.size() - 1}, {"delta", std::move(json)}};
    if (!tokens_.empty()) {
      event["verbatim"]["tokens"] = std::move(tokens_);
      tokens_ = Json::array();
    }
    return Event("content_block_delta", event);
  }

  void Close(std::string& out) {
    if (open_ && stream_) out += Event("content_block_stop", {{"index", blocks_.size() - 1}});
    open_ = false;
  }

  Json Whole() {
    Json json = Head();
    json["content"] = Json::array();
    for (const Block& block : blocks_) json["content"].push_back(BlockJson(block));
    json["stop_reason"] = StopReason();
    json["stop_sequence"] = StopReasonJson(End0());
    json["usage"] = UsageJson();
    AddExtensions(json);
    return json;
  }

  std::vector<Block> blocks_;
  bool open_ = false;
  Json tokens_ = Json::array();  // not sent yet; of a whole answer all of them
};

}  // namespace

std::unique_ptr<AnswerWriter> MakeMessagesWriter(const AnswerRequest& request, AnswerHead head) {
  return std::make_unique<MessagesWriter>(request, std::move(head));
}

}  // namespace verbatim::serve
