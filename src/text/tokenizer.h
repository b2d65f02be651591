// Tokenizer: text to token ids as the checkpoint's own tokenizer.json says, and ids to bytes. Not
// the chat template, and not incremental text (incremental_detokenizer.h).
//
// Thread rule: immutable after Load; all methods may be called from several threads at once.
#ifndef VERBATIM_TEXT_TOKENIZER_H_
#define VERBATIM_TEXT_TOKENIZER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "verbatim/status.h"

struct VtfTokenizer;

namespace verbatim {

class Tokenizer {
 public:
  // Reads tokenizer.json of `folder`, and the added_tokens_decoder of tokenizer_config.json if that
  // file is there. Errors: kNotFound, kIo, kCorrupt, kUnsupported (a decoder whose bytes per token
  // are not known, BPE dropout).
  static Expected<std::shared_ptr<const Tokenizer>> Load(const std::filesystem::path& folder);

  // The same from the files' texts; `config_json` may be empty. `where` names the source in errors.
  static Expected<std::shared_ptr<const Tokenizer>> FromJson(std::string_view tokenizer_json,
                                                             std::string_view config_json,
                                                             std::string_view where);

  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  // The ids of a text, with no BOS or the like around it: a chat template writes those itself.
  // `parse_special` false keeps the texts of special tokens (special=true only) plain text.
  // Errors: kInvalidArgument, naming the byte offset where `utf8` stops being UTF-8.
  Expected<std::vector<int32_t>> Encode(std::string_view utf8, bool parse_special = true) const;

  // The text of `ids`: their bytes joined, with U+FFFD for what is not UTF-8 (utf8.h).
  // `skip_special` leaves out special tokens; added tokens such as <think> with special=false stay.
  // Errors: kInvalidArgument for an id without a token.
  Expected<std::string> Decode(std::span<const int32_t> ids, bool skip_special) const;

  // The bytes that one token stands for, which need not be whole characters. Added tokens are their
  // literal text. The view lives as long as the tokenizer. Errors: kInvalidArgument.
  Expected<std::string_view> TokenBytes(int32_t id) const;

  // At least so many tokens `utf8` has, told from its size alone: composing characters (NFC) makes
  // a text shorter by two thirds at most.
  int64_t LeastTokens(std::string_view utf8) const {
    return static_cast<int64_t>(utf8.size() / (3 * longest_));
  }

  // True if `id` has a token. Logits may have more columns than there are tokens.
  bool HasToken(int32_t id) const {
    return id >= 0 && id < vocab_size() && kinds_[static_cast<size_t>(id)] != Kind::kAbsent;
  }
  // True for tokens marked special=true, e.g. <|im_end|>; false for ids without a token.
  bool IsSpecial(int32_t id) const {
    return HasToken(id) && kinds_[static_cast<size_t>(id)] == Kind::kSpecial;
  }

  // The largest id plus one: ids from here on never have a token.
  int32_t vocab_size() const { return static_cast<int32_t>(kinds_.size()); }

  // The id of an added token (special or not) by its text, e.g. "<|im_end|>".
  std::optional<int32_t> TokenId(std::string_view added_token) const;

  // tokenizer_config.json's eos_token: for chat models the end of a turn, which the model's config
  // may lack.
  std::optional<int32_t> eos_token_id() const { return TokenId(eos_token_); }

 private:
  enum class Kind : uint8_t { kAbsent, kNormal, kAdded, kSpecial };

  Tokenizer() = default;
  Status AddConfigTokens(std::string_view config_json, std::string_view where);
  Status ReadVocabulary(std::string_view where);

  VtfTokenizer* handle_ = nullptr;
  std::string bytes_;              // of all tokens, one behind the other
  std::vector<uint64_t> offsets_;  // [vocab_size + 1] into bytes_
  size_t longest_ = 1;             // bytes of a token
  std::vector<Kind> kinds_;        // [vocab_size]
  std::unordered_map<std::string, int32_t> added_ids_;
  std::string eos_token_;  // empty: none named
};

}  // namespace verbatim

#endif  // VERBATIM_TEXT_TOKENIZER_H_
