// Two plain formats; the default prompts are in the second.
#include "measure/flip_prompts.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "checkpoint/json.h"
#include "measure/flip_prompts_text.h"

namespace verbatim {
namespace {

using nlohmann::json;

Status Fault(std::string_view where, std::string_view expected, std::string_view received) {
  return MakeError(StatusCode::kInvalidArgument, where, expected, received,
                   R"({"text": "..."}, or plain text with lines of --- between prompts)");
}

// Cuts the first line off `rest`.
std::string_view NextLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string StringOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Expected<FlipPrompt> ParseObject(std::string_view line, const std::string& where) {
  VERBATIM_ASSIGN_OR_RETURN(const json object, ParseJson(line, where));
  if (!object.is_object()) return Fault(where, "an object", JsonForMessage(object));
  FlipPrompt prompt = {.category = StringOf(object, "category"), .text = StringOf(object, "text")};
  if (prompt.text.empty()) prompt.text = StringOf(object, "prompt");
  if (const auto messages = object.find("messages"); messages != object.end()) {
    if (!messages->is_array() || messages->empty()) {
      return Fault(where, "messages, a list of at least one", JsonForMessage(*messages));
    }
    prompt.messages_json = messages->dump();
    for (const json& message : *messages) {
      if (!message.is_object()) return Fault(where, "messages, a list of objects", line);
      if (!prompt.text.empty()) prompt.text.push_back('\n');
      prompt.text.append(StringOf(message, "content"));
    }
    return prompt;
  }
  if (prompt.text.empty()) return Fault(where, "text, prompt or messages", JsonForMessage(object));
  return prompt;
}

Expected<std::vector<FlipPrompt>> ParseJsonLines(std::string_view text, std::string_view where) {
  std::vector<FlipPrompt> prompts;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = NextLine(text);
    if (IsBlank(line)) continue;
    Expected<FlipPrompt> prompt = ParseObject(line, fmt::format("{}:{}", where, number));
    if (!prompt.ok()) {  // a file that does not hold what it should is the caller's doing
      return Status(StatusCode::kInvalidArgument, prompt.status().message());
    }
    prompts.push_back(*std::move(prompt));
  }
  return prompts;
}

Expected<std::vector<FlipPrompt>> ParsePlain(std::string_view text, std::string_view where) {
  std::vector<FlipPrompt> prompts;
  int number = 0;
  bool open = false;  // a line of dashes came before the current prompt
  FlipPrompt prompt;
  const auto close = [&]() -> Status {
    while (!prompt.text.empty() && prompt.text.ends_with('\n')) prompt.text.pop_back();
    if (IsBlank(prompt.text)) {
      if (!open) return Status();  // blank lines before the first
      return Fault(fmt::format("{}:{}", where, number), "a prompt below ---", "an empty one");
    }
    prompts.push_back(std::exchange(prompt, {}));
    return Status();
  };
  while (!text.empty()) {
    const std::string_view line = NextLine(text);
    ++number;
    if (line != "---" && !line.starts_with("--- ")) {
      prompt.text.append(line).push_back('\n');
      continue;
    }
    VERBATIM_RETURN_IF_ERROR(close());
    open = true;
    prompt = {.category = std::string(line.substr(line.size() > 4 ? 4 : 3)), .text = {}};
  }
  VERBATIM_RETURN_IF_ERROR(close());
  return prompts;
}

}  // namespace

const std::vector<FlipPrompt>& DefaultFlipPrompts() {
  static const std::vector<FlipPrompt> prompts = [] {
    auto parsed = ParseFlipPrompts(kFlipPromptsText, "the default prompts");
    VERBATIM_CHECK(parsed.ok());  // a test reads them all
    return *std::move(parsed);
  }();
  return prompts;
}

Expected<std::vector<FlipPrompt>> ParseFlipPrompts(std::string_view text, std::string_view where) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool lines = first != std::string_view::npos && text[first] == '{';
  VERBATIM_ASSIGN_OR_RETURN(std::vector<FlipPrompt> prompts,
                            lines ? ParseJsonLines(text, where) : ParsePlain(text, where));
  if (prompts.empty()) return Fault(where, "at least one prompt", "none");
  return prompts;
}

}  // namespace verbatim
