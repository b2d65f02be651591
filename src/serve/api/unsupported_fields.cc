// The fields that are refused by name, each with the values that change nothing.
#include <array>

#include "serve/api/request_fields.h"

namespace verbatim::serve {
namespace {

enum class Neutral { kNone, kFalse, kTrue, kZero, kOne, kMinusOne, kEmpty, kText };

struct UnsupportedField {
  std::string_view name;
  Neutral neutral;
  std::string_view expected;
  std::string_view advice = {};
};

constexpr auto kFields = std::to_array<UnsupportedField>({
    // OpenAI's.
    {"suffix", Neutral::kEmpty, "no suffix: the models served here only go on"},
    {"audio", Neutral::kNone, "no audio: answers are text"},
    {"modalities", Neutral::kText, "[\"text\"]"},
    {"prediction", Neutral::kNone, "none", "leaving it out: drafts come from the model"},
    {"functions", Neutral::kEmpty, "none", "tools"},
    {"function_call", Neutral::kNone, "none", "tool_choice"},
    {"web_search_options", Neutral::kNone, "none: this server looks nothing up"},
    {"previous_response_id", Neutral::kNone, "none: responses are not stored",
     "sending the earlier turns in input"},
    {"conversation", Neutral::kNone, "none: conversations are not stored",
     "sending the earlier turns in input"},
    {"background", Neutral::kFalse, "false: responses are not stored"},
    // Anthropic's.
    {"container", Neutral::kNone, "none: this server runs no code"},
    {"mcp_servers", Neutral::kEmpty, "none: this server calls no other"},
    {"context_management", Neutral::kEmpty, "none", "sending the turns as they are to be read"},
    // vLLM's.
    {"stop_token_ids", Neutral::kEmpty, "none", "stop"},
    {"include_stop_str_in_output", Neutral::kFalse, "false"},
    {"skip_special_tokens", Neutral::kTrue, "true"},
    {"use_beam_search", Neutral::kFalse, "false"},
    {"length_penalty", Neutral::kOne, "1"},
    {"prompt_logprobs", Neutral::kNone, "none"},
    {"allowed_token_ids", Neutral::kEmpty, "none", "guided_choice or guided_regex"},
    {"logits_processors", Neutral::kEmpty, "none"},
    {"truncate_prompt_tokens", Neutral::kNone, "none: no prompt is shortened here"},
    {"continue_final_message", Neutral::kFalse, "false"},
    {"documents", Neutral::kEmpty, "none", "putting them into a message"},
    {"chat_template", Neutral::kNone, "none: the server's own is used", "serve --chat-template"},
    {"cache_salt", Neutral::kEmpty, "none: one cache serves all", "serve --prefix-cache-memory 0"},
    {"thinking_token_budget", Neutral::kNone, "none", "enable_thinking or max_tokens"},
    // llama.cpp's.
    {"grammar", Neutral::kEmpty, "no GBNF grammar", "guided_grammar, which takes Lark"},
    {"typical_p", Neutral::kOne, "1"},
    {"tfs_z", Neutral::kOne, "1"},
    {"top_a", Neutral::kZero, "0"},
    {"mirostat", Neutral::kZero, "0"},
    {"dry_multiplier", Neutral::kZero, "0"},
    {"xtc_probability", Neutral::kZero, "0"},
    {"dynatemp_range", Neutral::kZero, "0"},
    {"top_n_sigma", Neutral::kMinusOne, "-1"},
    {"lora", Neutral::kEmpty, "none"},
});

bool IsNeutral(const Json& value, Neutral neutral) {
  switch (neutral) {
    case Neutral::kNone:
      return false;
    case Neutral::kFalse:
      return value == false;
    case Neutral::kTrue:
      return value == true;
    case Neutral::kZero:
      return value.is_number() && value == 0;
    case Neutral::kOne:
      return value.is_number() && value == 1;
    case Neutral::kMinusOne:
      return value.is_number() && value == -1;
    case Neutral::kEmpty:
      return value.is_string() ? value.get_ref<const std::string&>().empty()
                               : value.is_structured() && value.empty();
    case Neutral::kText:
      return value == Json::array({"text"});
  }
  return false;
}

}  // namespace

void RefuseUnsupported(const FieldReader& body) {
  for (const UnsupportedField& field : kFields) {
    const Json* value = body.Find(field.name);
    if (value == nullptr || IsNeutral(*value, field.neutral)) continue;
    body.Unsupported(field.name, field.expected, field.advice);
  }
}

}  // namespace verbatim::serve
