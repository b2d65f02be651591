// AnswerParser: a model's answer text to reasoning, content and tool calls, incrementally. Not the
// prompt's side (chat_template.h).
#ifndef VERBATIM_TEXT_ANSWER_PARSER_H_
#define VERBATIM_TEXT_ANSWER_PARSER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

struct AnswerDelta {
  enum class Kind {
    kReasoning,          // text between <think> and </think>
    kContent,            // what the user is to read
    kToolCall,           // a new call begins: `text` is the function's name
    kToolCallArguments,  // `text` continues the arguments' JSON object of the call
  };
  Kind kind = Kind::kContent;
  int tool_call = 0;  // kToolCall...: counts from 0
  std::string text = {};
  bool operator==(const AnswerDelta&) const = default;
};

// However the text is cut into pieces, the deltas of one kind and call, concatenated, are the same,
// and so is their order. Nothing emitted is taken back; a piece that may be the start of a tag is
// held back. Texts of deltas are not empty.
//
// A call begins where its head is complete: its function's name, of a tool or not, and the tag
// behind it. Text that only looks like a head becomes content, byte for byte. The arguments are a
// JSON object whose values have the types of the tool's schema: strings as written and while they
// come; what may be another type once it is complete, as written if it is JSON of that type, else
// as a string. Of a parameter's values the first counts. A call that the text's end or foreign text
// cuts off stays unfinished, its arguments no complete JSON, so that nobody takes half of them for
// the whole; the foreign text is content. Line breaks that the format puts around reasoning, and
// blanks around calls, belong to neither. Reasoning is only at the answer's start; calls inside of
// it are reasoning.
class AnswerParser {
 public:
  virtual ~AnswerParser() = default;
  virtual void Push(std::string_view text, std::vector<AnswerDelta>& deltas) = 0;
  // The text ends here (end of sequence, stop string, length): what was held back comes out.
  virtual void Finish(std::vector<AnswerDelta>& deltas) = 0;
  // A call has begun and is not complete: behind Finish, or where foreign text came, it never will.
  virtual bool has_unfinished_call() const = 0;
};

struct AnswerParserOptions {
  bool split_reasoning = true;       // false: <think> and </think> are content like any other
  bool starts_in_reasoning = false;  // the prompt ended inside of <think>
  nlohmann::ordered_json tools;  // OpenAI's tool definitions, for the arguments' types; null: no
                                 // tool calls are looked for
};

// Which format a model writes; the next family adds its own.
enum class AnswerFormat {
  kQwen35,  // <think>...</think>, <tool_call><function=NAME><parameter=NAME>...
};

std::unique_ptr<AnswerParser> MakeAnswerParser(AnswerFormat format,
                                               const AnswerParserOptions& options);

// Whether generation starts inside of reasoning: the rendered prompt's last <think> is open.
bool EndsInReasoning(AnswerFormat format, std::string_view prompt);

// A Lark grammar (constraint.h) that makes the answer one or more calls of the tools, in the
// model's format, with arguments that fit each tool's JSON schema. `only`: of this tool; empty: of
// any. Errors: kInvalidArgument, naming the tool.
Expected<std::string> ToolCallGrammar(AnswerFormat format, const nlohmann::ordered_json& tools,
                                      std::string_view only, bool several);

}  // namespace verbatim

#endif  // VERBATIM_TEXT_ANSWER_PARSER_H_
