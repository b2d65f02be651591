// How the Qwen3.5 family writes reasoning and tool calls, behind answer_parser.h. Not for use
// outside src/text.
//
//   <think>
//   reasoning
//   </think>
//
//   content
//
//   <tool_call>
//   <function=NAME>
//   <parameter=NAME>
//   value
//   </parameter>
//   </function>
//   </tool_call>
//
// A prompt that asks for reasoning ends behind "<think>\n", one that does not ends behind
// "<think>\n\n</think>\n\n". Values of strings stand as they are, of other types as JSON.
#ifndef VERBATIM_TEXT_QWEN35_FORMAT_H_
#define VERBATIM_TEXT_QWEN35_FORMAT_H_

#include <memory>
#include <string>
#include <string_view>

#include "text/answer_parser.h"

namespace verbatim::qwen35_format {

inline constexpr std::string_view kThink = "<think>";
inline constexpr std::string_view kEndThink = "</think>";
inline constexpr std::string_view kToolCall = "<tool_call>";
inline constexpr std::string_view kEndToolCall = "</tool_call>";
inline constexpr std::string_view kFunction = "<function=";
inline constexpr std::string_view kEndFunction = "</function>";
inline constexpr std::string_view kParameter = "<parameter=";
inline constexpr std::string_view kEndParameter = "</parameter>";

// OpenAI's names have at most 64 bytes; a tag that does not end after four times that is text.
inline constexpr size_t kMaxNameBytes = 256;
// What a name between = and > cannot hold.
inline constexpr std::string_view kNotInNames = "<>\n";

std::unique_ptr<AnswerParser> MakeParser(const AnswerParserOptions& options);
bool EndsInReasoning(std::string_view prompt);
Expected<std::string> ToolCallGrammar(const nlohmann::ordered_json& tools, std::string_view only,
                                      bool several);

}  // namespace verbatim::qwen35_format

#endif  // VERBATIM_TEXT_QWEN35_FORMAT_H_
