// The parser of qwen35_format.h's text: a state machine over what has come so far, which acts only
// on what no further text can change. Not a check of arguments against their schemas.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "text/json_depth.h"
#include "text/qwen35_format.h"
#include "text/tool_schema.h"

namespace verbatim::qwen35_format {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// The length of the longest end of `text` that begins `tag` without being all of it.
size_t BegunTag(std::string_view text, std::string_view tag) {
  for (size_t size = std::min(text.size(), tag.size() - 1); size > 0; --size) {
    if (text.ends_with(tag.substr(0, size))) return size;
  }
  return 0;
}

// `text` is less than `tag` and may become it.
bool MayBecome(std::string_view text, std::string_view tag) {
  return text.size() < tag.size() && tag.starts_with(text);
}

size_t SkipBlanks(std::string_view text, size_t at = 0) {
  return std::min(text.find_first_not_of(kBlanks, at), text.size());
}

std::string_view WithoutEnd(std::string_view text, std::string_view characters) {
  const size_t last = text.find_last_not_of(characters);
  return last == text.npos ? text.substr(0, 0) : text.substr(0, last + 1);
}

// The inside of a JSON string. Bytes beyond ASCII stay as they are, so cuts may be anywhere.
std::string Escaped(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

std::string Quoted(std::string_view text) { return '"' + Escaped(text) + '"'; }

// The JSON text of a value that need not be a string. Templates write Python's True and None, too.
std::string TypedValue(std::string_view text, unsigned types) {
  std::string_view bare = WithoutEnd(text.substr(SkipBlanks(text)), kBlanks);
  if ((types & kJsonBoolean) != 0 && bare == "True") return "true";
  if ((types & kJsonBoolean) != 0 && bare == "False") return "false";
  if ((types & kJsonNull) != 0 && bare == "None") return "null";
  const auto value = nlohmann::ordered_json::parse(bare, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded() || !WithinDepth(value)) return Quoted(text);
  // A schema that allows strings takes what is of no other of its types as one.
  const unsigned type = JsonTypeOf(value);
  if ((types & kJsonString) != 0 && ((type & types) == 0 || type == kJsonString)) {
    return Quoted(text);
  }
  return std::string(bare);
}

class Parser : public AnswerParser {
 public:
  explicit Parser(const AnswerParserOptions& options) : has_tools_(!options.tools.empty()) {
    if (options.split_reasoning) {
      state_ = options.starts_in_reasoning ? State::kReasoningStart : State::kStart;
    }
    for (ToolSchema& tool : ReadToolSchemas(options.tools)) {
      auto& types = types_[std::move(tool.name)];
      for (ToolParameter& parameter : tool.parameters) {
        types[std::move(parameter.name)] = parameter.types;
      }
    }
  }

  void Push(std::string_view text, std::vector<AnswerDelta>& deltas) override {
    text_ += text;
    while (Step(/*final=*/false, deltas)) {
    }
  }

  void Finish(std::vector<AnswerDelta>& deltas) override {
    while (Step(/*final=*/true, deltas)) {
    }
    text_.clear();
  }

  bool has_unfinished_call() const override { return num_finished_ < num_calls_; }

 private:
  enum class State {
    kStart,           // of an answer that may begin with <think>
    kReasoningStart,  // line breaks in front of reasoning
    kReasoning,
    kContentStart,  // line breaks behind </think>
    kContent,       // until <tool_call>
    kInCall,        // between a call's tags
    kStringValue,   // which streams
    kTypedValue,    // which is complete first
    kCallEnd,       // behind </function>
  };
  enum class Found { kYes, kNo, kMore };

  // One step forward; false if it takes more text, or if there is none.
  bool Step(bool final, std::vector<AnswerDelta>& deltas) {
    switch (state_) {
      case State::kStart:
        return Start(final);
      case State::kReasoningStart:
        return SkipLineBreaks(State::kReasoning);
      case State::kReasoning:
        return Reasoning(final, deltas);
      case State::kContentStart:
        return SkipLineBreaks(State::kContent);
      case State::kContent:
        return Content(final, deltas);
      case State::kInCall:
        return InCall(deltas);
      case State::kStringValue:
        return StringValue(final, deltas);
      case State::kTypedValue:
        return TypedValueStep(deltas);
      case State::kCallEnd:
        return CallEnd();
    }
    return false;
  }

  void Emit(AnswerDelta::Kind kind, std::string text, std::vector<AnswerDelta>& deltas) const {
    if (text.empty()) return;
    const bool of_call =
        kind == AnswerDelta::Kind::kToolCall || kind == AnswerDelta::Kind::kToolCallArguments;
    deltas.push_back(
        {.kind = kind, .tool_call = of_call ? num_calls_ - 1 : 0, .text = std::move(text)});
  }
  void EmitArguments(std::string text, std::vector<AnswerDelta>& deltas) const {
    if (!repeated_) Emit(AnswerDelta::Kind::kToolCallArguments, std::move(text), deltas);
  }
  std::string Take(size_t size) {
    std::string taken = text_.substr(0, size);
    text_.erase(0, size);
    return taken;
  }

  bool Start(bool final) {
    const size_t at = SkipBlanks(text_);
    const std::string_view rest = std::string_view(text_).substr(at);
    if (rest.starts_with(kThink)) {
      text_.erase(0, at + kThink.size());
      state_ = State::kReasoningStart;
      return true;
    }
    if (!final && MayBecome(rest, kThink)) return false;
    state_ = State::kContent;
    return true;
  }

  bool SkipLineBreaks(State next) {
    text_.erase(0, std::min(text_.find_first_not_of('\n'), text_.size()));
    if (text_.empty()) return false;
    state_ = next;
    return true;
  }

  bool Reasoning(bool final, std::vector<AnswerDelta>& deltas) {
    const size_t end = text_.find(kEndThink);
    if (end != text_.npos) {
      const std::string text = Take(end + kEndThink.size());
      const std::string_view inner = std::string_view(text).substr(0, end);
      Emit(AnswerDelta::Kind::kReasoning, std::string(WithoutEnd(inner, "\n")), deltas);
      state_ = State::kContentStart;
      return true;
    }
    std::string_view certain = text_;
    if (!final) {
      certain.remove_suffix(BegunTag(certain, kEndThink));
      certain = WithoutEnd(certain, "\n");
    }
    Emit(AnswerDelta::Kind::kReasoning, Take(certain.size()), deltas);
    return false;
  }

  bool Content(bool final, std::vector<AnswerDelta>& deltas) {
    size_t tag = has_tools_ ? text_.find(kToolCall) : text_.npos;
    if (tag == text_.npos) {
      std::string_view certain = text_;
      if (!final && has_tools_) {
        certain.remove_suffix(BegunTag(certain, kToolCall));
        certain = WithoutEnd(certain, kBlanks);
      }
      // Blanks behind the last call are no content.
      if (final && behind_call_ && SkipBlanks(text_) == text_.size()) text_.clear();
      EmitContent(std::min(certain.size(), text_.size()), deltas);
      return false;
    }
    // Nor are those in front of a call.
    const size_t before = WithoutEnd(std::string_view(text_).substr(0, tag), kBlanks).size();
    EmitContent(before, deltas);
    tag -= before;
    size_t head = 0;
    std::string name;
    Found found = FindHead(tag + kToolCall.size(), head, name);
    if (found == Found::kMore && !final) return false;
    if (found != Found::kYes) {
      EmitContent(tag + kToolCall.size(), deltas);
      return true;
    }
    text_.erase(0, head);
    ++num_calls_;
    const auto tool = types_.find(name);
    tool_ = tool == types_.end() ? nullptr : &tool->second;
    seen_.clear();
    repeated_ = false;
    behind_call_ = false;
    Emit(AnswerDelta::Kind::kToolCall, std::move(name), deltas);
    state_ = State::kInCall;
    return true;
  }

  void EmitContent(size_t size, std::vector<AnswerDelta>& deltas) {
    if (size == 0) return;
    behind_call_ = false;
    Emit(AnswerDelta::Kind::kContent, Take(size), deltas);
  }

  // `tag` (which ends with =), a name and > at `at`; `end` is behind them.
  Found FindNamed(size_t at, std::string_view tag, size_t& end, std::string& name) const {
    const std::string_view rest = std::string_view(text_).substr(at);
    if (!rest.starts_with(tag)) return MayBecome(rest, tag) ? Found::kMore : Found::kNo;
    const std::string_view inner = rest.substr(tag.size());
    const size_t size = inner.find_first_of(kNotInNames);
    if (size == inner.npos) return inner.size() > kMaxNameBytes ? Found::kNo : Found::kMore;
    if (inner[size] != '>' || size == 0 || size > kMaxNameBytes) return Found::kNo;
    name = inner.substr(0, size);
    end = at + tag.size() + size + 1;
    return Found::kYes;
  }

  // A call begins for good where its function's name and its next tag are there. `head` is at the
  // latter.
  Found FindHead(size_t at, size_t& head, std::string& name) const {
    const Found found = FindNamed(SkipBlanks(text_, at), kFunction, head, name);
    if (found != Found::kYes) return found;
    head = SkipBlanks(text_, head);
    const std::string_view rest = std::string_view(text_).substr(head);
    if (rest.starts_with(kParameter) || rest.starts_with(kEndFunction)) return Found::kYes;
    return MayBecome(rest, kParameter) || MayBecome(rest, kEndFunction) ? Found::kMore : Found::kNo;
  }

  bool InCall(std::vector<AnswerDelta>& deltas) {
    const size_t at = SkipBlanks(text_);
    const std::string_view rest = std::string_view(text_).substr(at);
    for (const std::string_view tag : {kEndFunction, kEndToolCall}) {
      if (!rest.starts_with(tag)) continue;
      repeated_ = false;
      EmitArguments(seen_.empty() ? "{}" : "}", deltas);
      ++num_finished_;
      text_.erase(0, at + tag.size());
      behind_call_ = true;
      state_ = tag == kEndFunction ? State::kCallEnd : State::kContent;
      return true;
    }
    size_t end = 0;
    std::string name;
    switch (FindNamed(at, kParameter, end, name)) {
      case Found::kYes:
        BeginParameter(end, name, deltas);
        return true;
      case Found::kMore:
        return false;
      case Found::kNo:
        break;
    }
    if (MayBecome(rest, kEndFunction) || MayBecome(rest, kEndToolCall)) return false;
    state_ = State::kContent;  // the call stays unfinished
    return true;
  }

  void BeginParameter(size_t end, const std::string& name, std::vector<AnswerDelta>& deltas) {
    text_.erase(0, end);
    const bool first = seen_.empty();
    repeated_ = !seen_.insert(name).second;  // JSON's keys are unique: the first value counts
    EmitArguments((first ? "{" : ",") + Quoted(name) + ":", deltas);
    value_types_ = kJsonString;  // of a parameter that the tool does not declare
    if (tool_ != nullptr) {
      const auto types = tool_->find(name);
      if (types != tool_->end()) value_types_ = types->second;
    }
    value_begun_ = false;
    searched_ = 0;
    state_ = value_types_ == kJsonString ? State::kStringValue : State::kTypedValue;
  }

  // The line break in front of a value is not part of it. False: it takes more text.
  bool BeginValue() {
    if (value_begun_) return true;
    if (text_.empty()) return false;
    if (text_.front() == '\n') text_.erase(0, 1);
    value_begun_ = true;
    return true;
  }

  bool StringValue(bool final, std::vector<AnswerDelta>& deltas) {
    const bool begun = value_begun_;
    if (!BeginValue()) return false;
    if (!begun) EmitArguments("\"", deltas);
    const size_t end = text_.find(kEndParameter);
    if (end != text_.npos) {
      EndValue(end, deltas, [](std::string_view value) { return Escaped(value) + '"'; });
      return true;
    }
    std::string_view certain = text_;
    if (!final) {
      certain.remove_suffix(BegunTag(certain, kEndParameter));
      if (certain.ends_with('\n')) certain.remove_suffix(1);
    }
    EmitArguments(Escaped(Take(certain.size())), deltas);
    return false;
  }

  bool TypedValueStep(std::vector<AnswerDelta>& deltas) {
    if (!BeginValue()) return false;
    const size_t end = text_.find(kEndParameter, searched_);
    if (end == text_.npos) {
      searched_ = text_.size() - BegunTag(text_, kEndParameter);
      return false;
    }
    EndValue(end, deltas, [&](std::string_view value) { return TypedValue(value, value_types_); });
    return true;
  }

  template <typename ToJson>
  void EndValue(size_t end, std::vector<AnswerDelta>& deltas, ToJson to_json) {
    const std::string text = Take(end + kEndParameter.size());
    std::string_view value = std::string_view(text).substr(0, end);
    if (value.ends_with('\n')) value.remove_suffix(1);
    EmitArguments(to_json(value), deltas);
    state_ = State::kInCall;
  }

  bool CallEnd() {
    const size_t at = SkipBlanks(text_);
    const std::string_view rest = std::string_view(text_).substr(at);
    if (MayBecome(rest, kEndToolCall)) return false;
    if (rest.starts_with(kEndToolCall)) text_.erase(0, at + kEndToolCall.size());
    state_ = State::kContent;
    return true;
  }

  const bool has_tools_;
  std::unordered_map<std::string, std::unordered_map<std::string, unsigned>> types_;
  State state_ = State::kContent;
  std::string text_;  // not yet acted on
  int num_calls_ = 0;
  int num_finished_ = 0;
  bool behind_call_ = false;  // nothing but blanks since the last call

  // Of the current call.
  const std::unordered_map<std::string, unsigned>* tool_ = nullptr;
  std::unordered_set<std::string> seen_;  // names of parameters

  // Of the current parameter.
  unsigned value_types_ = kJsonAnyType;
  bool repeated_ = false;
  bool value_begun_ = false;
  size_t searched_ = 0;  // no end of the value begins in front of here
};

}  // namespace

std::unique_ptr<AnswerParser> MakeParser(const AnswerParserOptions& options) {
  return std::make_unique<Parser>(options);
}

bool EndsInReasoning(std::string_view prompt) {
  // A message may have the tags as text: what counts is the turn that the model continues.
  const size_t turn = prompt.rfind("<|im_start|>");
  if (turn != prompt.npos) prompt.remove_prefix(turn);
  const size_t begin = prompt.rfind(kThink);
  if (begin == prompt.npos) return false;
  return prompt.find(kEndThink, begin) == prompt.npos;
}

}  // namespace verbatim::qwen35_format
