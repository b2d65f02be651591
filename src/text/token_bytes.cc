// The byte alphabet of byte-level BPE and the byte tokens of SentencePiece. Not a general decoder
// chain: one that is not known is refused, so that no text is ever quietly wrong.
#include "text/token_bytes.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace verbatim {
namespace {

// GPT-2's alphabet: the printable characters of Latin-1 stand for themselves; the other 68 bytes,
// in order, are the code points from U+0100. So the largest code point is 0x100 + 67.
constexpr int kAlphabetSize = 0x100 + 68;

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<int16_t, kAlphabetSize> MakeAlphabet() {
  std::array<int16_t, kAlphabetSize> byte_of{};
  for (auto& entry : byte_of) entry = -1;
  int next = 0x100;
  for (int byte = 0; byte < 0x100; ++byte) {
    byte_of[StandsForItself(byte) ? byte : next++] = static_cast<int16_t>(byte);
  }
  return byte_of;
}

constexpr auto kByteOfCodePoint = MakeAlphabet();

// `<0xNN>` with two hex digits; -1 for anything else.
int ByteToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  return error == std::errc() && end == token.data() + 5 && value >= 0 ? value : -1;
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

Status Unknown(std::string_view what) {
  return MakeError(StatusCode::kUnsupported, "tokenizer.json decoder",
                   "ByteLevel, or a sequence of Replace, ByteFallback and Fuse", what);
}

}  // namespace

bool UndoByteAlphabet(std::string_view token, std::string& bytes) {
  for (size_t i = 0; i < token.size(); ++i) {
    int code_point = static_cast<uint8_t>(token[i]);
    if (code_point >= 0x80) {
      // The alphabet lies below U+0800: two bytes, 110xxxxx 10xxxxxx.
      if ((code_point & 0xE0) != 0xC0 || i + 1 == token.size()) return false;
      code_point = (code_point & 0x1F) << 6 | (static_cast<uint8_t>(token[++i]) & 0x3F);
    }
    if (code_point >= kAlphabetSize || kByteOfCodePoint[code_point] < 0) return false;
    bytes.push_back(static_cast<char>(kByteOfCodePoint[code_point]));
  }
  return true;
}

Expected<TokenByteRule> TokenByteRule::FromDecoderJson(std::string_view json) {
  const auto root = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !(root.is_null() || root.is_object())) {
    return MakeError(StatusCode::kCorrupt, "tokenizer.json decoder", "null or an object", json);
  }
  TokenByteRule rule;
  if (root.is_null()) return rule;
  const auto type_of = [](const nlohmann::json& part) {
    const auto type = part.is_object() ? part.find("type") : part.end();
    return type != part.end() && type->is_string() ? type->get<std::string>() : std::string();
  };
  if (type_of(root) == "ByteLevel") {
    rule.byte_level_ = true;
    return rule;
  }
  const nlohmann::json parts = root.value("decoders", nlohmann::json());
  if (type_of(root) != "Sequence" || !parts.is_array()) return Unknown(type_of(root));
  for (const auto& part : parts) {
    const std::string type = type_of(part);
    if (type == "ByteFallback") {
      rule.byte_fallback_ = true;
    } else if (type == "Replace") {
      const auto pattern = part.value("pattern", nlohmann::json());
      const auto content = part.value("content", nlohmann::json());
      if (!pattern.is_object() || !pattern.contains("String") || !pattern["String"].is_string() ||
          pattern["String"].get<std::string>().empty() || !content.is_string()) {
        return Unknown("Replace without a plain pattern");
      }
      // After ByteFallback the texts are no longer tokens: replacing then could join across them.
      if (rule.byte_fallback_) return Unknown("Replace behind ByteFallback");
      rule.replacements_.emplace_back(pattern["String"].get<std::string>(),
                                      content.get<std::string>());
    } else if (type != "Fuse") {
      return Unknown(type);
    }
  }
  return rule;
}

std::string TokenByteRule::Bytes(std::string_view token) const {
  if (byte_level_) {
    std::string bytes;
    // As in the reference, a token that is not spelled in the alphabet is literal text.
    return UndoByteAlphabet(token, bytes) ? bytes : std::string(token);
  }
  std::string text(token);
  for (const auto& [from, to] : replacements_) ReplaceAll(text, from, to);
  if (byte_fallback_) {
    if (const int byte = ByteToken(text); byte >= 0) return std::string(1, static_cast<char>(byte));
  }
  return text;
}

}  // namespace verbatim
