// ChatTemplate: a list of messages to the prompt text, by the checkpoint's own Jinja template. Not
// the parsing of a model's answer.
//
// Thread rule: immutable after Load; Render may be called from several threads at once.
#ifndef VERBATIM_TEXT_CHAT_TEMPLATE_H_
#define VERBATIM_TEXT_CHAT_TEMPLATE_H_

#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "verbatim/status.h"

struct VtfTemplate;

namespace verbatim {

struct ChatTemplateOptions {
  nlohmann::ordered_json tools;         // null, or a list of tool definitions
  bool add_generation_prompt = true;    // end with the head of the assistant's turn
  std::optional<bool> enable_thinking;  // unset: the template's own default
  nlohmann::ordered_json kwargs;        // null, or an object with further variables
  std::optional<std::tm> now;           // local time for strftime_now; unset: the clock's
};

class ChatTemplate {
 public:
  // Reads chat_template.jinja of `folder`, else the chat_template of tokenizer_config.json: a text,
  // or a list of named ones, of which "default" and, for requests with tools, "tool_use" are used.
  // The special tokens of tokenizer_config.json (bos_token, eos_token, ...) become variables. A
  // folder without a template loads; Render then says so. `file`, if not empty, is read instead of
  // the folder's templates. Errors: kIo, kNotFound (`file`), kCorrupt (does not parse).
  static Expected<ChatTemplate> Load(const std::filesystem::path& folder,
                                     const std::filesystem::path& file = {});

  // A template from its text. `special_tokens` is null or an object of variable names and texts.
  static Expected<ChatTemplate> FromSource(std::string_view source,
                                           nlohmann::ordered_json special_tokens,
                                           std::string_view where);

  // Renders as Hugging Face's apply_chat_template does: Jinja's trim_blocks and lstrip_blocks,
  // loop controls, Python's string and dict methods, tojson as json.dumps without HTML escapes and
  // in the given order of keys (hence ordered_json: parse requests into it), raise_exception,
  // strftime_now, generation blocks as plain text. Keys of messages whose value is null are
  // dropped, and reasoning under an older name (reasoning, thinking) is also there as
  // reasoning_content. Errors: kNotFound (no template), kInvalidArgument (raise_exception, with its
  // message; a template that fails on these messages; one that runs without end).
  Expected<std::string> Render(const nlohmann::ordered_json& messages,
                               const ChatTemplateOptions& options) const;

  bool has_template() const { return !templates_.empty(); }

 private:
  struct Deleter {
    void operator()(VtfTemplate* value) const;
  };

  explicit ChatTemplate(std::string where) : where_(std::move(where)) {}
  Status Add(const std::string& name, std::string_view source);
  Status AddFromConfig(const nlohmann::ordered_json& config);

  std::string where_;
  std::map<std::string, std::unique_ptr<VtfTemplate, Deleter>, std::less<>> templates_;
  nlohmann::ordered_json special_tokens_ = nlohmann::ordered_json::object();
};

}  // namespace verbatim

#endif  // VERBATIM_TEXT_CHAT_TEMPLATE_H_
