// GrammarCompiler and GrammarMatcher: which tokens may come next under a constraint, by the
// llguidance crate. Not the choice among them (numerics/sampler.h).
//
// A mask is a function of the constraint, the vocabulary and the tokens committed: what was
// computed, committed and rolled back on the way changes nothing. Only where a limit ends a
// constraint may depend on the way, because states once found are kept.
//
// Thread rule: a compiler is immutable, Compile may be called from several threads at once; a
// matcher belongs to one sequence and one thread at a time. It may outlive its compiler.
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
  // One bit an id, bit i % 32 of word i / 32; 1: allowed. `mask` has MaskWords() words.
  // End-of-sequence ids are set where the text may end, and alone where nothing can follow.
  // Errors: kInvalidArgument (the grammar's step limits are exceeded, or no token continues the
  // text: this request fails, no other; Rollback leads back to where there was a mask).
  Status ComputeMask(std::span<uint32_t> mask);
  // Moves past a token that the last mask allowed; past an end-of-sequence id, nothing follows but
  // Rollback. Errors: kInvalidArgument, and the place stays as it was.
  Status Commit(int32_t token);
  // A second matcher at the same place. Errors: kInternal.
  Expected<GrammarMatcher> Clone() const;
  // Back to before the last `num_tokens` commits.
  Status Rollback(int num_tokens);
  // The text may end here, and it must (the grammar has nothing that follows; false does not say
  // that the vocabulary has a token for what does).
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
  // `eos_ids` end a text; each of them is allowed where a text may end, and never as text, nor are
  // special tokens. Takes seconds for 250,000 tokens. Errors: kInvalidArgument (an id without a
  // token), kUnsupported (a tokenizer that llguidance can't take), kInternal.
  static Expected<std::shared_ptr<const GrammarCompiler>> Create(
      std::shared_ptr<const Tokenizer> tokenizer, std::span<const int32_t> eos_ids);

  // JSON may have whitespace where RFC 8259 has it, up to 65 characters at a time and none around
  // the whole; a schema's own x-guidance object says otherwise (llguidance's documentation). A
  // regex is of the whole text. Grammars have no attributes that hide text or change sampling
  // (stop=, max_tokens=, temperature=). Errors: kInvalidArgument with the grammar's own message and
  // place: invalid JSON, a schema keyword that can't be held, a bad regex or grammar, a text or a
  // compilation beyond the limits (ffi/src/grammar.rs); kResourceExhausted (no memory or thread, or
  // too much memory lost to compilations that had to be left behind).
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
