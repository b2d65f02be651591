// Tools and the choice among them, in the forms of the three APIs that have them. Not tool calls of
// earlier turns (message_fields.h).
#ifndef VERBATIM_SERVE_API_TOOL_FIELDS_H_
#define VERBATIM_SERVE_API_TOOL_FIELDS_H_

#include "serve/api/field_reader.h"

namespace verbatim::serve {

enum class ToolForm {
  kChat,       // {"type": "function", "function": {"name", "description", "parameters"}}
  kResponses,  // {"type": "function", "name", "description", "parameters"}
  kMessages,   // {"name", "description", "input_schema"}
};

// tools, tool_choice, parallel_tool_calls. AnswerRequest::tools has kChat's form, which templates
// print; the fields of each function keep their order.
void ReadTools(const FieldReader& body, ToolForm form, const ApiLimits& limits,
               AnswerRequest& request);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_TOOL_FIELDS_H_
