// TokenByteRule: from the spelling of a token in the vocabulary to the bytes it stands for. Not the
// joining of tokens into text.
#ifndef VERBATIM_TEXT_TOKEN_BYTES_H_
#define VERBATIM_TEXT_TOKEN_BYTES_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

class TokenByteRule {
 public:
  // Reads the `decoder` entry of tokenizer.json. Known: ByteLevel (the Qwen family), and sequences
  // of Replace with a plain string, ByteFallback and Fuse (the Gemma family). null: tokens are
  // their own bytes. Errors: kUnsupported for any other decoder, kCorrupt for text that is no JSON.
  static Expected<TokenByteRule> FromDecoderJson(std::string_view json);

  // The bytes of one vocabulary token that is not an added token.
  std::string Bytes(std::string_view token) const;

 private:
  bool byte_level_ = false;
  bool byte_fallback_ = false;
  std::vector<std::pair<std::string, std::string>> replacements_;  // in order
};

// Undoes the GPT-2 byte alphabet, in which a character stands for a byte. False if a character is
// outside the alphabet.
bool UndoByteAlphabet(std::string_view token, std::string& bytes);

}  // namespace verbatim

#endif  // VERBATIM_TEXT_TOKEN_BYTES_H_
