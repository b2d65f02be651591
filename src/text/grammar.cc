// GrammarCompiler and GrammarMatcher over the Rust crate. The limits are there
// (ffi/src/grammar.rs), not here.
#include "text/grammar.h"

#include <fmt/format.h>

#include "base/check.h"
#include "text/ffi_support.h"

namespace verbatim {
namespace {

constexpr const char* kAdvice = "a simpler constraint";

int Kind(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kJsonObject:
      return VTF_JSON_OBJECT;
    case ConstraintKind::kJsonSchema:
      return VTF_JSON_SCHEMA;
    case ConstraintKind::kRegex:
      return VTF_REGEX;
    case ConstraintKind::kGrammar:
      return VTF_LARK;
    case ConstraintKind::kNone:
      break;
  }
  return 0;
}

std::string_view ExpectedText(ConstraintKind kind) {
  switch (kind) {
    case ConstraintKind::kJsonObject:
    case ConstraintKind::kJsonSchema:
      return "a JSON schema that can be held";
    case ConstraintKind::kRegex:
      return "a regular expression that can be held";
    default:
      return "a grammar in llguidance's Lark dialect";
  }
}

}  // namespace

void GrammarMatcher::Deleter::operator()(VtfGrammar* value) const { vtf_grammar_free(value); }

Status GrammarMatcher::ComputeMask(std::span<uint32_t> mask) {
  text_ffi::Bytes error;
  const int code = vtf_grammar_mask(handle_.get(), mask.data(), mask.size(), error.out());
  if (code == VTF_OK) return {};
  return text_ffi::ToStatus(code, "constraint", "a text whose next token can be told within limits",
                            error, kAdvice);
}

Status GrammarMatcher::Commit(int32_t token) {
  text_ffi::Bytes error;
  // A negative id becomes one that no vocabulary has.
  const int code = vtf_grammar_commit(handle_.get(), static_cast<uint32_t>(token), error.out());
  if (code == VTF_OK) return {};
  return text_ffi::ToStatus(
      code, "constraint", "a token that the last mask allowed, within the limits", error, kAdvice);
}

Expected<GrammarMatcher> GrammarMatcher::Clone() const {
  VtfGrammar* made = nullptr;
  text_ffi::Bytes error;
  const int code = vtf_grammar_clone(handle_.get(), &made, error.out());
  if (code == VTF_OK) return GrammarMatcher(made);
  return text_ffi::ToStatus(code, "constraint", "a grammar to copy", error);
}

Status GrammarMatcher::Rollback(int num_tokens) {
  VERBATIM_CHECK(num_tokens >= 0);
  text_ffi::Bytes error;
  const int code =
      vtf_grammar_rollback(handle_.get(), static_cast<size_t>(num_tokens), error.out());
  if (code == VTF_OK) return {};
  return text_ffi::ToStatus(code, "constraint", "at most the tokens committed", error);
}

bool GrammarMatcher::may_end() const {
  return (vtf_grammar_flags(handle_.get()) & VTF_GRAMMAR_MAY_END) != 0;
}

bool GrammarMatcher::must_end() const {
  return (vtf_grammar_flags(handle_.get()) & VTF_GRAMMAR_MUST_END) != 0;
}

void GrammarCompiler::Deleter::operator()(VtfGrammarFactory* value) const {
  vtf_grammar_factory_free(value);
}

Expected<std::shared_ptr<const GrammarCompiler>> GrammarCompiler::Create(
    std::shared_ptr<const Tokenizer> tokenizer, std::span<const int32_t> eos_ids) {
  std::shared_ptr<GrammarCompiler> compiler(new GrammarCompiler());
  const auto vocab_size = static_cast<size_t>(tokenizer->vocab_size());
  std::string data;
  std::vector<uint64_t> offsets = {0};
  std::vector<uint8_t> special(vocab_size, 0);
  offsets.reserve(vocab_size + 1);
  for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
    if (tokenizer->HasToken(id)) data += *tokenizer->TokenBytes(id);
    special[static_cast<size_t>(id)] = tokenizer->IsSpecial(id) ? 1 : 0;
    offsets.push_back(data.size());
  }
  std::vector<uint32_t> ends;
  for (const int32_t id : eos_ids) {
    if (!tokenizer->HasToken(id)) {
      return MakeError(StatusCode::kInvalidArgument, "end-of-sequence ids",
                       "ids with a token of the vocabulary", fmt::format("{}", id));
    }
    ends.push_back(static_cast<uint32_t>(id));
  }
  const VtfVocabulary vocabulary = {.data = text_ffi::Data(data),
                                    .data_size = data.size(),
                                    .offsets = offsets.data(),
                                    .special = special.data(),
                                    .vocab_size = vocab_size};
  VtfGrammarFactory* made = nullptr;
  text_ffi::Bytes error;
  const int code =
      vtf_grammar_factory_new(&vocabulary, ends.data(), ends.size(), &made, error.out());
  if (code != VTF_OK) {
    return text_ffi::ToStatus(code, "tokenizer", "a vocabulary that constraints can be held over",
                              error);
  }
  compiler->handle_.reset(made);
  compiler->tokenizer_ = std::move(tokenizer);
  return std::shared_ptr<const GrammarCompiler>(std::move(compiler));
}

Expected<GrammarMatcher> GrammarCompiler::Compile(const ConstraintOptions& constraint) const {
  VtfGrammar* made = nullptr;
  text_ffi::Bytes error;
  const int code =
      vtf_grammar_new(handle_.get(), Kind(constraint.kind), text_ffi::Data(constraint.text),
                      constraint.text.size(), &made, error.out());
  if (code == VTF_OK) return GrammarMatcher(made);
  return text_ffi::ToStatus(code, fmt::format("constraint {}", ConstraintKindName(constraint.kind)),
                            ExpectedText(constraint.kind), error, kAdvice);
}

size_t GrammarCompiler::MaskWords() const {
  return (static_cast<size_t>(tokenizer_->vocab_size()) + 31) / 32;
}

}  // namespace verbatim
