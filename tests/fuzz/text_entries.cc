// What must hold for every tokenizer and template: an answer that keeps its promises, or an error.
#include "fuzz/text_entries.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "fuzz/check_fault.h"
#include "fuzz/split_input.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace verbatim::fuzz {
namespace {

// True if this is no reason to stop varying the input.
bool Checked(const Status& status) {
  CheckFault(status);
  return status.code() != StatusCode::kResourceExhausted;
}

}  // namespace

bool FuzzTokenizer(std::span<const std::byte> bytes) {
  const std::vector<std::string_view> parts = SplitInput(bytes, 3);
  const auto loaded = Tokenizer::FromJson(parts[0], parts.size() > 1 ? parts[1] : "", "folder");
  if (!loaded.ok()) return Checked(loaded.status());
  const Tokenizer& tokenizer = **loaded;
  for (int32_t id = 0; id < std::min(tokenizer.vocab_size(), 64); ++id) {
    VERBATIM_CHECK(tokenizer.TokenBytes(id).ok() == tokenizer.HasToken(id));
  }
  VERBATIM_CHECK(!tokenizer.HasToken(-1) && !tokenizer.HasToken(tokenizer.vocab_size()));
  if (const auto eos = tokenizer.eos_token_id()) VERBATIM_CHECK(tokenizer.HasToken(*eos));
  const std::string_view text = parts.size() > 2 ? parts[2] : "Once upon a time <|im_end|>\n";
  for (const bool parse_special : {true, false}) {
    const auto ids = tokenizer.Encode(text, parse_special);
    if (!ids.ok()) {
      if (!Checked(ids.status())) return false;
      continue;
    }
    const auto decoded = tokenizer.Decode(*ids, /*skip_special=*/true);
    if (!decoded.ok()) CheckFault(decoded.status());
  }
  return true;
}

bool FuzzChatTemplate(std::span<const std::byte> bytes) {
  const std::vector<std::string_view> parts = SplitInput(bytes, 2);
  const auto loaded =
      ChatTemplate::FromSource(parts[0], {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, "folder");
  if (!loaded.ok()) return Checked(loaded.status());
  nlohmann::ordered_json messages = {{{"role", "user"}, {"content", "Hi"}}};
  if (parts.size() > 1) {
    messages = nlohmann::ordered_json::parse(parts[1], nullptr, /*allow_exceptions=*/false);
    if (messages.is_discarded()) return true;
  }
  ChatTemplateOptions options;
  options.enable_thinking = bytes.size() % 2 == 0;
  options.now = std::tm{};
  const auto text = loaded->Render(messages, options);
  return text.ok() || Checked(text.status());
}

}  // namespace verbatim::fuzz
