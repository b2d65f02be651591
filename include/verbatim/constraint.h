// ConstraintOptions: what the text of an answer must match. Not how that is held (text/grammar.h).
#ifndef VERBATIM_CONSTRAINT_H_
#define VERBATIM_CONSTRAINT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {

enum class ConstraintKind {
  kNone,
  kJsonObject,  // any JSON object; no text
  kJsonSchema,  // the JSON text of a schema
  kRegex,       // a regular expression over the whole output
  kGrammar,     // a context-free grammar in llguidance's Lark dialect
};

std::string_view ConstraintKindName(ConstraintKind kind);  // "none", "json_object", ...

// Tokens that the text could not go on from are banned at every position, as banned_token_ids are;
// an end-of-sequence token is allowed where the text is complete, and alone where nothing else is.
struct ConstraintOptions {
  ConstraintKind kind = ConstraintKind::kNone;
  std::string text = {};
  // The constraint begins behind the first place where the output ends with these ids, such as the
  // end of thinking; until there nothing is constrained. Empty: at the start.
  std::vector<int32_t> begin_after = {};
};

}  // namespace verbatim

#endif  // VERBATIM_CONSTRAINT_H_
