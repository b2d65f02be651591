// GrammarCompiler and GrammarMatcher: which tokens may come next under a constraint, by the
// llguidance crate. Not the choice among them (numerics/sampler.h).
//
// Thread rule: a compiler is immutable, Compile may be called from several threads at once; a
// matcher belongs to one sequence.
#ifndef VERBATIM_TEXT_GRAMMAR_H_
#define VERBATIM_TEXT_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "verbatim/constraint.h"
#include "verbatim/status.h"

struct VtfGrammarFactory;
struct VtfGrammar;

namespace verbatim {

// One sequence's place in a constraint.
class GrammarMatcher {
 public:
  // One bit an id, bit i % 32 of word i / 32; 1: allowed. `mask` has MaskWords() words. An
  // end-of-sequence id is set where the text may end. Errors: kInvalidArgument (the grammar's step
  // limits are exceeded: this request fails, no other).
  Status ComputeMask(std::span<uint32_t> mask);
  // Moves past a token that the last mask allowed. Errors: kInvalidArgument.
  Status Commit(int32_t token);
  // A second matcher at the same place. Errors: kInternal.
  Expected<GrammarMatcher> Clone() const;
  // Back to before the last `num_tokens` commits.
  Status Rollback(int num_tokens);
  // The text may end here, and it must (nothing can follow).
  bool may_end() const;
  bool must_end() const;

 private:
  friend class GrammarCompiler;
  struct Deleter {
    void operator()(VtfGrammar* value) const;
  };
  explicit GrammarMatcher(VtfGrammar* handle) : handle_(handle) {}
  std::unique_ptr<VtfGrammar, Deleter> handle_;
};

class GrammarCompiler {
 public:
  // `eos_ids` end a text; each of them is allowed where a text may end. Errors: kUnsupported (a
  // tokenizer that llguidance can't take), kInternal.
  static Expected<std::shared_ptr<const GrammarCompiler>> Create(
      std::shared_ptr<const Tokenizer> tokenizer, std::span<const int32_t> eos_ids);

  // Errors: kInvalidArgument with the grammar's own message and place: invalid JSON, a schema
  // keyword that can't be held, a bad regex or grammar, a text or a compilation beyond the limits.
  // `constraint.begin_after` is not looked at.
  Expected<GrammarMatcher> Compile(const ConstraintOptions& constraint) const;

  size_t MaskWords() const;  // (tokenizer's vocab_size + 31) / 32

 private:
  struct Deleter {
    void operator()(VtfGrammarFactory* value) const;
  };
  GrammarCompiler() = default;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<VtfGrammarFactory, Deleter> handle_;
};

}  // namespace verbatim

#endif  // VERBATIM_TEXT_GRAMMAR_H_
