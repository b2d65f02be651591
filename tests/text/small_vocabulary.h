// A tokenizer whose every mask can be checked token by token. Not one that encodes well.
#ifndef VERBATIM_TESTS_TEXT_SMALL_VOCABULARY_H_
#define VERBATIM_TESTS_TEXT_SMALL_VOCABULARY_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/tokenizer.h"

namespace verbatim::text_test {

inline constexpr int32_t kEndOfText = 0;     // <|endoftext|>, special
inline constexpr int32_t kEndOfTurn = 1;     // <|im_end|>, special
inline constexpr int32_t kOtherSpecial = 2;  // <|other|>, special, ends nothing
inline constexpr int32_t kAbsent = 3;        // no token

// The printable ASCII characters, line break and tab, the bytes of an umlaut and of a euro sign,
// and tokens of several characters. Two tokens are a blank, as where bytes and characters have
// tokens.
inline std::shared_ptr<const Tokenizer> SmallVocabulary() {
  nlohmann::json vocab = nlohmann::json::object();
  nlohmann::json added = nlohmann::json::array();
  int id = 0;
  for (const char* name : {"<|endoftext|>", "<|im_end|>", "<|other|>"}) {
    added.push_back({{"id", id},
                     {"content", name},
                     {"special", true},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false}});
    vocab[name] = id++;
  }
  ++id;  // kAbsent
  const auto byte = [&](unsigned value) {
    static constexpr char kHex[] = "0123456789ABCDEF";
    vocab[std::string("<0x") + kHex[value >> 4] + kHex[value & 15] + ">"] = id++;
  };
  for (const unsigned value : {0x0A, 0x09, 0x20, 0xC3, 0xA4, 0xE2, 0x82, 0xAC}) byte(value);
  for (char c = ' '; c <= '~'; ++c) vocab[std::string(1, c)] = id++;
  // clang-format off: words, not a list to read line by line
  constexpr const char* kTexts[] = {
      "{\"", "\":", "\": \"", "\", \"", "\"}", "\"]", "}}", "], ", ": ", ", ", "  ", "\n  ", "true", "false",
      "null", "name", "age", "name\"", "12", "3.5", "e+", "ab", "abc", "ba", "aa", "hello", " world",
      "<tool_call>", "<tool_call>\n<function=", "</parameter>", "\n</", "para", "meter", ">\n",
      "<parameter=", "</function>\n", "</tool_call>", "tool_call", "\xC3\xA4", "\\\"", "\\n", "1990-",
      "<think>"};
  // clang-format on
  for (const char* text : kTexts) {
    vocab[text] = id++;
  }
  const nlohmann::json json = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", nullptr},
      {"post_processor", nullptr},
      {"decoder",
       {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", true},
        {"vocab", vocab},
        {"merges", nlohmann::json::array()}}}};
  auto tokenizer = Tokenizer::FromJson(json.dump(), "", "small vocabulary");
  VERBATIM_CHECK(tokenizer.ok());
  return *tokenizer;
}

inline bool IsSet(const std::vector<uint32_t>& mask, int32_t id) {
  return (mask[static_cast<size_t>(id) / 32] >> (id % 32) & 1) != 0;
}

// The ids whose bytes joined are `text`, the longest token first.
inline std::vector<int32_t> Cut(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    int32_t best = -1;
    size_t size = 0;
    for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
      if (!tokenizer.HasToken(id) || tokenizer.IsSpecial(id)) continue;
      const std::string_view bytes = *tokenizer.TokenBytes(id);
      if (bytes.size() > size && text.starts_with(bytes)) {
        best = id;
        size = bytes.size();
      }
    }
    VERBATIM_CHECK(best >= 0);
    ids.push_back(best);
    text.remove_prefix(size);
  }
  return ids;
}

}  // namespace verbatim::text_test

#endif  // VERBATIM_TESTS_TEXT_SMALL_VOCABULARY_H_
