// Answers of POST /v1/responses: a response object, and the typed events that build it. Not its
// request (responses.cc).
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "serve/api/writer_parts.h"

namespace verbatim::serve {
namespace {

using Kind = AnswerDelta::Kind;

// One of the response's output: thinking, text, or a call.
struct Item {
  Kind kind = Kind::kContent;  // kToolCall: of the call's arguments, too
  std::string text = {};       // a call's arguments
  std::string name = {};
  int call = 0;
  Json logprobs = Json::array();           // kContent
  std::string_view status = "incomplete";  // until it is closed
};

Kind ItemKind(Kind delta) { return delta == Kind::kToolCallArguments ? Kind::kToolCall : delta; }

class ResponsesWriter final : public WriterBase {
 public:
  ResponsesWriter(const AnswerRequest& request, AnswerHead head)
      : WriterBase(request, std::move(head)), echoed_(request.echoed) {}

  std::string Begin() override {
    if (!stream_) return {};
    const Json response = ResponseJson("in_progress");
    std::string out = Event("response.created", {{"response", response}});
    out += Event("response.in_progress", {{"response", response}});  // behind: they are numbered
    return out;
  }

  std::string Part(const AnswerPart& part) override {
    std::string out;
    size_t next = 0;
    const auto apply_to = [&](size_t end) {
      for (; next < end; ++next) Apply(part.deltas[next], out);
    };
    for (const ReportedToken& token : part.tokens) {
      apply_to(token.num_deltas < 0
                   ? part.deltas.size()
                   : std::min(part.deltas.size(), static_cast<size_t>(token.num_deltas)));
      Report(token);
    }
    apply_to(part.deltas.size());
    Flush(out);
    return stream_ ? out : std::string();
  }

  std::string EndChoice(const ChoiceEnd& end) override {
    SetEnd(end);
    std::string out;
    Close(Incomplete() ? "incomplete" : "completed", out);
    return stream_ ? out : std::string();
  }

  std::string End() override {
    const std::string_view status = Incomplete() ? "incomplete" : "completed";
    const Json response = ResponseJson(status);
    if (!stream_) return DumpJson(response);
    return Event(fmt::format("response.{}", status), {{"response", response}});
  }

  std::string Fail(const ApiError& error) override {
    if (!stream_) return ErrorJson(error, api_, head_.id);
    std::string_view code = "server_error";
    if (error.status == 429) code = "rate_limit_exceeded";
    if (error.status == 400) code = "invalid_prompt";
    Json response = ResponseJson("failed");
    response["error"] = {{"code", code}, {"message", error.message}};
    return Event("response.failed", {{"response", std::move(response)}});
  }

 private:
  bool Incomplete() const { return End0().finish_reason == FinishReason::kLength; }

  std::string Event(std::string_view type, const Json& fields) {
    Json event;
    event["type"] = type;
    event["sequence_number"] = sequence_number_++;
    event.update(fields);
    return SseEvent(type, event);
  }

  // Of the open item, which is the last one.
  std::string ItemEvent(std::string_view type, const Json& fields) {
    const size_t index = items_.size() - 1;
    Json all = {{"item_id", ItemId(index)}, {"output_index", index}};
    if (items_.back().kind != Kind::kToolCall) all["content_index"] = 0;
    all.update(fields);
    return Event(type, all);
  }

  std::string ItemId(size_t index) const {
    const Kind kind = items_[index].kind;
    const std::string_view prefix = kind == Kind::kReasoning ? "rs"
                                    : kind == Kind::kContent ? "msg"
                                                             : "fc";
    return fmt::format("{}_{}_{}", prefix, head_.id, index);
  }

  static Json ContentJson(const Item& item) {
    if (item.kind == Kind::kReasoning) return {{"type", "reasoning_text"}, {"text", item.text}};
    return {{"type", "output_text"},
            {"text", item.text},
            {"annotations", Json::array()},
            {"logprobs", item.logprobs}};
  }

  // `opened`: as it is announced, without content.
  Json ItemJson(size_t index, std::string_view status, bool opened) const {
    const Item& item = items_[index];
    Json json;
    json["id"] = ItemId(index);
    if (item.kind == Kind::kToolCall) {
      json["type"] = "function_call";
      json["status"] = status;
      json["call_id"] = ToolCallId("call_", head_, 0, item.call);
      json["name"] = item.name;
      json["arguments"] = opened ? "" : item.text;
      return json;
    }
    const bool reasoning = item.kind == Kind::kReasoning;
    json["type"] = reasoning ? "reasoning" : "message";
    json["status"] = status;
    if (reasoning) {
      json["summary"] = Json::array();
    } else {
      json["role"] = "assistant";
    }
    json["content"] = Json::array();
    if (!opened) json["content"].push_back(ContentJson(item));
    return json;
  }

  void Apply(const AnswerDelta& delta, std::string& out) {
    if (delta.text.empty() && delta.kind != Kind::kToolCall) return;
    const Kind kind = ItemKind(delta.kind);
    if (!open_ || items_.back().kind != kind || delta.kind == Kind::kToolCall) {
      Close("completed", out);
      Open(kind, delta, out);
      if (delta.kind == Kind::kToolCall) return;
    }
    pending_text_ += delta.text;
  }

  void Report(const ReportedToken& token) {
    if (token_details_) {
      Json json = TokenJson(token);
      if (stream_) pending_tokens_.push_back(json);
      tokens_.push_back(std::move(json));
    }
    if (logprobs_ && open_ && items_.back().kind == Kind::kContent) {
      pending_logprobs_.push_back(LogprobJson(token));
    }
  }

  void Open(Kind kind, const AnswerDelta& delta, std::string& out) {
    Item item = {.kind = kind, .call = delta.tool_call};
    if (delta.kind == Kind::kToolCall) item.name = delta.text;
    items_.push_back(std::move(item));
    open_ = true;
    if (!stream_) return;
    const size_t index = items_.size() - 1;
    out += Event("response.output_item.added",
                 {{"output_index", index}, {"item", ItemJson(index, "in_progress", true)}});
    if (kind == Kind::kToolCall) return;
    out += ItemEvent("response.content_part.added", {{"part", ContentJson(items_.back())}});
  }

  // What has been gathered of the open item becomes one event.
  void Flush(std::string& out) {
    if (!open_ || (pending_text_.empty() && pending_logprobs_.empty())) return;
    Item& item = items_.back();
    if (stream_) {
      Json fields = {{"delta", pending_text_}};
      std::string_view type = "response.function_call_arguments.delta";
      if (item.kind == Kind::kReasoning) type = "response.reasoning_text.delta";
      if (item.kind == Kind::kContent) {
        type = "response.output_text.delta";
        fields["logprobs"] = pending_logprobs_;
      }
      if (!pending_tokens_.empty()) {
        fields["verbatim"]["tokens"] = std::move(pending_tokens_);
        pending_tokens_ = Json::array();
      }
      out += ItemEvent(type, fields);
    }
    item.text += pending_text_;
    for (Json& logprob : pending_logprobs_) item.logprobs.push_back(std::move(logprob));
    pending_text_.clear();
    pending_logprobs_ = Json::array();
  }

  void Close(std::string_view status, std::string& out) {
    if (!open_) return;
    Flush(out);
    const size_t index = items_.size() - 1;
    Item& item = items_.back();
    // Half a call must not look like a whole one, which clients run.
    const bool cut = item.kind == Kind::kToolCall && !Json::accept(item.text);
    item.status = cut ? "incomplete" : status;
    if (stream_) {
      if (item.kind == Kind::kToolCall) {
        out += ItemEvent("response.function_call_arguments.done",
                         {{"name", item.name}, {"arguments", item.text}});
      } else if (item.kind == Kind::kReasoning) {
        out += ItemEvent("response.reasoning_text.done", {{"text", item.text}});
      } else {
        out += ItemEvent("response.output_text.done",
                         {{"text", item.text}, {"logprobs", item.logprobs}});
      }
      if (item.kind != Kind::kToolCall) {
        out += ItemEvent("response.content_part.done", {{"part", ContentJson(item)}});
      }
      out += Event("response.output_item.done",
                   {{"output_index", index}, {"item", ItemJson(index, item.status, false)}});
    }
    open_ = false;
  }

  Json UsageJson() const {
    const Usage usage = TotalUsage();
    Json json;
    json["input_tokens"] = usage.prompt;
    // cache_write_tokens: newer clients' types demand it; nothing is charged for writing here.
    json["input_tokens_details"] = {{"cached_tokens", usage.cached}, {"cache_write_tokens", 0}};
    json["output_tokens"] = usage.completion;
    json["output_tokens_details"] = {{"reasoning_tokens", usage.reasoning}};
    json["total_tokens"] = usage.prompt + usage.completion;
    return json;
  }

  Json ResponseJson(std::string_view status) const {
    const bool ended = status == "completed" || status == "incomplete";
    Json json;
    json["id"] = "resp_" + head_.id;
    json["object"] = "response";
    json["created_at"] = head_.created;
    json["status"] = status;
    json["error"] = nullptr;
    json["incomplete_details"] = nullptr;
    if (status == "incomplete") json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    json["model"] = head_.model;
    json["output"] = Json::array();
    for (size_t i = 0; i < items_.size(); ++i) {
      json["output"].push_back(ItemJson(i, items_[i].status, false));
    }
    json["usage"] = ended ? UsageJson() : Json(nullptr);
    json["system_fingerprint"] = head_.system_fingerprint;
    if (echoed_.is_object()) json.update(echoed_);
    if (!ended) return json;
    json["stop_reason"] = StopReasonJson(End0());
    json["verbatim"] = VerbatimJson(End0());
    if (token_details_) json["verbatim"]["tokens"] = tokens_;
    AddMetrics(json);
    AddTimings(json);
    return json;
  }

  const Json echoed_;
  int64_t sequence_number_ = 0;
  std::vector<Item> items_;
  bool open_ = false;
  // Of the open item, not sent yet.
  std::string pending_text_;
  Json pending_logprobs_ = Json::array();
  Json pending_tokens_ = Json::array();
  Json tokens_ = Json::array();  // all
};

}  // namespace

std::unique_ptr<AnswerWriter> MakeResponsesWriter(const AnswerRequest& request, AnswerHead head) {
  return std::make_unique<ResponsesWriter>(request, std::move(head));
}

}  // namespace verbatim::serve
