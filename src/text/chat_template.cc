// ChatTemplate: picks the template and its variables; the Rust crate renders. Not a Jinja engine.
#include "text/chat_template.h"

#include <locale.h>

#include <utility>

#include "base/mapped_file.h"
#include "text/ffi_support.h"
#include "text/json_depth.h"

namespace verbatim {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxTemplateBytes = size_t{4} << 20;  // published ones have up to 20 KB
constexpr size_t kMaxConfigBytes = size_t{64} << 20;   // with 250,000 added tokens at 200 bytes

// The names that Hugging Face passes from a tokenizer to its template.
constexpr const char* kSpecialTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};

// strftime in the C locale. Python's naive datetime knows no zone: %z and %Z print nothing.
size_t FormatTime(const void* user, const char* format, char* out, size_t capacity) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  try {
    std::string kept;
    for (const char* p = format; *p != '\0'; ++p) {
      if (*p == '%' && (p[1] == 'z' || p[1] == 'Z')) {
        ++p;
        continue;
      }
      kept.push_back(*p);
      if (*p == '%' && p[1] != '\0') kept.push_back(*++p);
    }
    return strftime_l(out, capacity, kept.c_str(), static_cast<const std::tm*>(user), c_locale);
  } catch (...) {
    return 0;
  }
}

std::tm LocalTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

// A special token of tokenizer_config.json: its text, or an object with the text in `content`.
ordered_json SpecialTokens(const ordered_json& config) {
  ordered_json tokens = ordered_json::object();
  for (const char* name : kSpecialTokens) {
    const auto found = config.find(name);
    if (found == config.end()) continue;
    if (found->is_string()) tokens[name] = *found;
    if (found->is_object() && found->contains("content") && (*found)["content"].is_string()) {
      tokens[name] = (*found)["content"];
    }
  }
  return tokens;
}

// What Hugging Face does to messages before a template sees them: keys without a value go, and the
// reasoning, which clients send under three names, is there under those that templates read.
ordered_json Normalized(const ordered_json& message) {
  ordered_json result = ordered_json::object();
  const ordered_json* reasoning = nullptr;
  for (const char* name : {"reasoning", "thinking", "reasoning_content"}) {  // the last wins
    const auto found = message.find(name);
    if (found != message.end() && !found->is_null()) reasoning = &*found;
  }
  if (reasoning != nullptr) result["thinking"] = *reasoning;
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) result[key] = value;
  }
  if (reasoning != nullptr) result["reasoning_content"] = *reasoning;
  return result;
}

}  // namespace

void ChatTemplate::Deleter::operator()(VtfTemplate* value) const { vtf_template_free(value); }

Expected<ChatTemplate> ChatTemplate::Load(const std::filesystem::path& folder,
                                          const std::filesystem::path& file) {
  const auto exists = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  };
  ChatTemplate result(folder.string());
  const auto config_path = folder / "tokenizer_config.json";
  ordered_json config = ordered_json::object();
  if (exists(config_path)) {
    VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(config_path, kMaxConfigBytes));
    config = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!config.is_object() || !WithinDepth(config)) {
      return MakeError(StatusCode::kCorrupt, config_path.string(),
                       "a JSON object at most " + std::to_string(kMaxJsonDepth) + " levels deep",
                       "something else", "fetching the file again");
    }
    result.special_tokens_ = SpecialTokens(config);
  }
  if (!file.empty()) {
    result.where_ = file.string();
    VERBATIM_ASSIGN_OR_RETURN(const std::string source, ReadTextFile(file, kMaxTemplateBytes));
    VERBATIM_RETURN_IF_ERROR(result.Add("default", source));
  } else if (const auto path = folder / "chat_template.jinja"; exists(path)) {
    VERBATIM_ASSIGN_OR_RETURN(const std::string source, ReadTextFile(path, kMaxTemplateBytes));
    VERBATIM_RETURN_IF_ERROR(result.Add("default", source));
  } else {
    VERBATIM_RETURN_IF_ERROR(result.AddFromConfig(config));
  }
  return result;
}

Expected<ChatTemplate> ChatTemplate::FromSource(std::string_view source,
                                                ordered_json special_tokens,
                                                std::string_view where) {
  ChatTemplate result{std::string(where)};
  if (!special_tokens.is_null()) result.special_tokens_ = std::move(special_tokens);
  VERBATIM_RETURN_IF_ERROR(result.Add("default", source));
  return result;
}

Status ChatTemplate::AddFromConfig(const ordered_json& config) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return {};
  if (found->is_string()) return Add("default", found->get_ref<const std::string&>());
  const auto is_text = [](const ordered_json& entry, const char* key) {
    return entry.is_object() && entry.contains(key) && entry[key].is_string();
  };
  bool valid = found->is_array();
  for (const auto& entry : *found) {
    valid = valid && is_text(entry, "name") && is_text(entry, "template");
    if (!valid) break;
    const auto& name = entry["name"].get_ref<const std::string&>();
    if (name != "default" && name != "tool_use") continue;
    VERBATIM_RETURN_IF_ERROR(Add(name, entry["template"].get_ref<const std::string&>()));
  }
  if (!valid || !templates_.contains("default")) {
    return MakeError(StatusCode::kCorrupt, where_ + "/tokenizer_config.json chat_template",
                     "a text, or a list of named templates with one named default",
                     found->dump(-1, ' ', true).substr(0, 100));
  }
  return {};
}

Status ChatTemplate::Add(const std::string& name, std::string_view source) {
  VtfTemplate* made = nullptr;
  text_ffi::Bytes error;
  const int code = vtf_template_new(text_ffi::Data(source), source.size(), &made, error.out());
  if (code != VTF_OK) {
    return text_ffi::ToStatus(code == VTF_INVALID_UTF8 ? int{VTF_CORRUPT} : code,
                              where_ + " chat_template", "a Jinja template", error);
  }
  templates_[name].reset(made);
  return {};
}

Expected<std::string> ChatTemplate::Render(const ordered_json& messages,
                                           const ChatTemplateOptions& options) const {
  const auto invalid = [this](std::string_view expected, std::string_view received) {
    return MakeError(StatusCode::kInvalidArgument, where_ + " chat_template", expected, received);
  };
  if (!has_template()) {
    return MakeError(StatusCode::kNotFound, where_,
                     "chat_template.jinja, or a chat_template in tokenizer_config.json", "neither",
                     "a prompt without chat messages, or an instruct checkpoint");
  }
  if (!messages.is_array()) return invalid("a list of messages", messages.type_name());
  if (!options.tools.is_null() && !options.tools.is_array()) {
    return invalid("tools as a list", options.tools.type_name());
  }
  for (const ordered_json* value : {&messages, &options.tools, &options.kwargs}) {
    if (WithinDepth(*value)) continue;
    return invalid("JSON at most " + std::to_string(kMaxJsonDepth) + " levels deep", "more");
  }
  ordered_json context = special_tokens_;
  context["messages"] = ordered_json::array();
  for (const ordered_json& message : messages) {
    if (!message.is_object()) return invalid("messages that are objects", message.type_name());
    context["messages"].push_back(Normalized(message));
  }
  context["tools"] = options.tools;
  context["documents"] = nullptr;
  context["add_generation_prompt"] = options.add_generation_prompt;
  if (options.enable_thinking) context["enable_thinking"] = *options.enable_thinking;
  if (!options.kwargs.is_null()) {
    if (!options.kwargs.is_object()) return invalid("an object", options.kwargs.type_name());
    for (const auto& [key, value] : options.kwargs.items()) {
      if (key == "messages" || key == "tools" || key == "add_generation_prompt") {
        return invalid("variables beside those of the request", key);
      }
      context[key] = value;
    }
  }
  const bool use_tools = !options.tools.is_null() && templates_.contains("tool_use");
  const auto& chosen = templates_.find(use_tools ? "tool_use" : "default")->second;
  std::string json;
  try {
    json = context.dump();
  } catch (const nlohmann::json::exception& e) {  // the only error of dump: not UTF-8
    return invalid("messages in UTF-8", e.what());
  }
  const std::tm now = options.now ? *options.now : LocalTime();
  text_ffi::Bytes text;
  text_ffi::Bytes error;
  const int code = vtf_template_render(chosen.get(), text_ffi::Data(json), json.size(), &FormatTime,
                                       &now, sizeof now, text.out(), error.out());
  if (code != VTF_OK) {
    return text_ffi::ToStatus(code, where_ + " chat_template",
                              "messages that the model's template accepts", error);
  }
  return std::string(text.view());
}

}  // namespace verbatim
