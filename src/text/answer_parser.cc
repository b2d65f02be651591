// Which format's code answers. Not the formats themselves.
#include "text/answer_parser.h"

#include "base/check.h"
#include "text/qwen35_format.h"

namespace verbatim {

std::unique_ptr<AnswerParser> MakeAnswerParser(AnswerFormat format,
                                               const AnswerParserOptions& options) {
  switch (format) {
    case AnswerFormat::kQwen35:
      return qwen35_format::MakeParser(options);
  }
  VERBATIM_CHECK(false);
  return nullptr;
}

bool EndsInReasoning(AnswerFormat format, std::string_view prompt) {
  switch (format) {
    case AnswerFormat::kQwen35:
      return qwen35_format::EndsInReasoning(prompt);
  }
  return false;
}

Expected<std::string> ToolCallGrammar(AnswerFormat format, const nlohmann::ordered_json& tools,
                                      std::string_view only, bool several) {
  switch (format) {
    case AnswerFormat::kQwen35:
      return qwen35_format::ToolCallGrammar(tools, only, several);
  }
  return MakeError(StatusCode::kUnsupported, "tools", "an answer format that has tool calls",
                   "another");
}

}  // namespace verbatim
