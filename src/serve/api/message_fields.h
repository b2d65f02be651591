// Parts of messages that several APIs share: content as text, arguments of tool calls, system
// messages. Not an API's own list of messages.
#ifndef VERBATIM_SERVE_API_MESSAGE_FIELDS_H_
#define VERBATIM_SERVE_API_MESSAGE_FIELDS_H_

#include "serve/api/field_reader.h"

namespace verbatim::serve {

// A text, or a list of parts {"type": one of `types`, "text": ...} whose texts are joined with
// nothing between, as templates that read parts themselves do. Parts of other types are refused.
std::optional<std::string> ReadText(const FieldReader& object, std::string_view key,
                                    std::span<const std::string_view> types);

// Arguments of an earlier tool call, a JSON text or an object, as an object: templates write its
// members one by one. An empty text is no arguments.
Json ReadArguments(const FieldReader& object, std::string_view key);

// {"type": "function", "id": ..., "function": {"name": ..., "arguments": {...}}}
Json ToolCallMessage(std::string id, std::string name, Json arguments);

// Puts `message` behind the others; system messages at the head become one, with an empty line
// between: templates take one, and only there.
void AppendMessage(Json& messages, Json message);

// The list must not be empty.
void CheckNotEmpty(const FieldReader& body, std::string_view key, const Json& messages);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_MESSAGE_FIELDS_H_
