// BannedStrings: which tokens may not come next, so that a text never has any of some strings. Not
// the stop matcher, which ends a text instead.
#ifndef VERBATIM_TEXT_BANNED_STRINGS_H_
#define VERBATIM_TEXT_BANNED_STRINGS_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace verbatim {

// Looks at the bytes of the output, however it is cut into tokens. Special tokens have no bytes.
class BannedStrings {
 public:
  static constexpr size_t kMaxStrings = 64;  // each costs a pass over the vocabulary
  static constexpr size_t kMaxBytes = 256;   // of one string

  // kInvalidArgument: an empty string, too long ones or too many.
  static Status Check(std::span<const std::string> strings);

  // What the strings' bytes and the vocabulary say, for any number of outputs.
  struct Table;
  // `strings` as checked.
  static std::shared_ptr<const Table> Compile(std::shared_ptr<const Tokenizer> tokenizer,
                                              std::vector<std::string> strings);
  static const std::vector<std::string>& StringsOf(const Table& table);

  explicit BannedStrings(std::shared_ptr<const Table> table);

  // The output grows by a token. Allocates nothing.
  void Push(int32_t id);
  // Ids with which a string would be complete; some may stand there twice.
  std::span<const int32_t> ids() const { return ids_; }

 private:
  void FindIds();

  std::shared_ptr<const Table> table_;
  std::string tail_;  // the output's last bytes, one less than the longest string's at least
  std::vector<int32_t> ids_;
};

}  // namespace verbatim

#endif  // VERBATIM_TEXT_BANNED_STRINGS_H_
