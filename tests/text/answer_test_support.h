// What an AnswerParser says of a text, however cut. Not a test.
#ifndef VERBATIM_TESTS_TEXT_ANSWER_TEST_SUPPORT_H_
#define VERBATIM_TESTS_TEXT_ANSWER_TEST_SUPPORT_H_

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "text/answer_parser.h"

namespace verbatim {

inline void PrintTo(const AnswerDelta& delta, std::ostream* out) {
  static constexpr const char* kNames[] = {"reasoning", "content", "call", "arguments"};
  *out << kNames[static_cast<int>(delta.kind)] << ' ' << delta.tool_call << " '" << delta.text
       << "'";
}

namespace text_test {

using Deltas = std::vector<AnswerDelta>;

// Neighbours of one kind and call joined: what no cut may change.
inline Deltas Joined(const Deltas& deltas) {
  Deltas joined;
  for (const AnswerDelta& delta : deltas) {
    if (!joined.empty() && delta.kind != AnswerDelta::Kind::kToolCall &&
        joined.back().kind == delta.kind && joined.back().tool_call == delta.tool_call) {
      joined.back().text += delta.text;
    } else {
      joined.push_back(delta);
    }
  }
  return joined;
}

// `cuts` ascend; Joined(every delta of a parse in pieces that end there).
inline Deltas ParseCut(const AnswerParserOptions& options, std::string_view text,
                       const std::vector<size_t>& cuts) {
  const auto parser = MakeAnswerParser(AnswerFormat::kQwen35, options);
  Deltas deltas;
  size_t at = 0;
  for (const size_t cut : cuts) {
    parser->Push(text.substr(at, cut - at), deltas);
    at = cut;
  }
  parser->Push(text.substr(at), deltas);
  parser->Finish(deltas);
  return Joined(deltas);
}

inline Deltas Parse(const AnswerParserOptions& options, std::string_view text) {
  return ParseCut(options, text, {});
}

inline std::string TextOf(const Deltas& deltas, AnswerDelta::Kind kind, int call = 0) {
  std::string text;
  for (const AnswerDelta& delta : deltas) {
    if (delta.kind == kind && delta.tool_call == call) text += delta.text;
  }
  return text;
}

inline AnswerDelta Reasoning(std::string text) {
  return {.kind = AnswerDelta::Kind::kReasoning, .text = std::move(text)};
}
inline AnswerDelta Content(std::string text) {
  return {.kind = AnswerDelta::Kind::kContent, .text = std::move(text)};
}
inline AnswerDelta Call(int call, std::string text) {
  return {.kind = AnswerDelta::Kind::kToolCall, .tool_call = call, .text = std::move(text)};
}
inline AnswerDelta Arguments(int call, std::string text) {
  return {
      .kind = AnswerDelta::Kind::kToolCallArguments, .tool_call = call, .text = std::move(text)};
}

// Parameters of every kind of schema.
inline nlohmann::ordered_json Tools() {
  return nlohmann::ordered_json::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "parameters": {
      "type": "object", "required": ["city"],
      "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "metric": {"type": "boolean"},
        "unit": {"enum": ["C", "F"]},
        "limits": {"$ref": "#/$defs/limits"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"]},
        "any": {},
        "either": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
      "$defs": {"limits": {"type": "object", "properties": {"low": {"type": "number"}},
                           "additionalProperties": false}}}}},
    {"type": "function", "function": {"name": "now"}},
    {"name": "flat", "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}}])");
}

}  // namespace text_test
}  // namespace verbatim

#endif  // VERBATIM_TESTS_TEXT_ANSWER_TEST_SUPPORT_H_
