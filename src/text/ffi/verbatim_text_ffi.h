// The C side of the verbatim_text_ffi crate: tokenizers, minijinja and llguidance behind a few
// functions. Not for use outside src/text, which wraps it.
//
// Every function that returns a VtfStatus fails by value: on any code but VTF_OK it writes nothing
// but *error (if not null), a UTF-8 message that vtf_bytes_free releases. Panics inside the crate
// become VTF_PANIC. Loading, encoding, rendering and compiling run on a thread of their own within
// limits of memory and time; one that exceeds them is left behind (src/supervised.rs). Byte strings
// are pointer and size; a size of 0 allows a null pointer.
#ifndef VERBATIM_TEXT_FFI_VERBATIM_TEXT_FFI_H_
#define VERBATIM_TEXT_FFI_VERBATIM_TEXT_FFI_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum VtfStatus {
  VTF_OK = 0,
  VTF_INVALID_UTF8 = 1,      // a text argument is not UTF-8; the message has the byte offset
  VTF_INVALID_ARGUMENT = 2,  // the input cannot be encoded or rendered
  VTF_CORRUPT = 3,           // tokenizer.json or the template source does not parse
  VTF_UNSUPPORTED = 4,       // valid, but not something that can be honoured
  VTF_RAISED = 5,            // the template called raise_exception; the message is its argument
  VTF_PANIC = 6,             // a bug in the crate
  VTF_EXHAUSTED = 7,         // too much memory or time, or no thread to work on
};

struct VtfBytes {
  uint8_t* data;
  size_t size;
};
void vtf_bytes_free(struct VtfBytes value);

struct VtfIds {
  uint32_t* data;
  size_t size;
};
void vtf_ids_free(struct VtfIds value);

// ---- Tokenizer. All functions but vtf_tokenizer_free may be called from several threads.
struct VtfTokenizer;

// Parses the text of a tokenizer.json. Stored truncation and padding are switched off.
int vtf_tokenizer_new(const uint8_t* json, size_t size, struct VtfTokenizer** out,
                      struct VtfBytes* error);
void vtf_tokenizer_free(struct VtfTokenizer* tokenizer);

enum VtfAddedFlags {
  VTF_ADDED_SPECIAL = 1,
  VTF_ADDED_LSTRIP = 2,
  VTF_ADDED_RSTRIP = 4,
  VTF_ADDED_SINGLE_WORD = 8,
  VTF_ADDED_NORMALIZED = 16,
};
// Adds a token (or changes the flags of one that exists) and returns its id. A new token gets the
// next free id.
int vtf_tokenizer_add(const struct VtfTokenizer* tokenizer, const uint8_t* text, size_t size,
                      uint32_t flags, uint32_t* out_id, struct VtfBytes* error);

// Token ids of a text, without tokens that a post-processor would put around it. `parse_special`
// false: the texts of special tokens are plain text.
int vtf_tokenizer_encode(const struct VtfTokenizer* tokenizer, const uint8_t* text, size_t size,
                         bool parse_special, struct VtfIds* out, struct VtfBytes* error);

// The largest id plus one.
int vtf_tokenizer_size(const struct VtfTokenizer* tokenizer, uint64_t* out, struct VtfBytes* error);

enum VtfTokenKind { VTF_ABSENT = 0, VTF_NORMAL = 1, VTF_ADDED = 2, VTF_SPECIAL = 3 };
// A token as the vocabulary spells it; the empty string for an absent id.
int vtf_tokenizer_token(const struct VtfTokenizer* tokenizer, uint32_t id,
                        struct VtfBytes* out_text, int32_t* out_kind, struct VtfBytes* error);

// The decoder entry of tokenizer.json, as JSON ("null" if there is none).
int vtf_tokenizer_decoder(const struct VtfTokenizer* tokenizer, struct VtfBytes* out_json,
                          struct VtfBytes* error);

// ---- Chat template. Rendering may be done from several threads at once.
struct VtfTemplate;

int vtf_template_new(const uint8_t* source, size_t size, struct VtfTemplate** out,
                     struct VtfBytes* error);
void vtf_template_free(struct VtfTemplate* value);

// Writes the rendering's time as the zero-terminated `format` says, at most `capacity` bytes, and
// returns how many were written. Must not throw.
typedef size_t (*VtfStrftime)(const void* user, const char* format, char* out, size_t capacity);

// Renders with the variables of a JSON object, whose order of keys is kept. `strftime` may be null;
// it gets a copy of the `user_size` bytes at `user`.
int vtf_template_render(const struct VtfTemplate* value, const uint8_t* context_json, size_t size,
                        VtfStrftime strftime, const void* user, size_t user_size,
                        struct VtfBytes* out, struct VtfBytes* error);

// ---- Grammars. Compiling may be done from several threads at once.
struct VtfGrammarFactory;

struct VtfVocabulary {
  const uint8_t* data;  // the tokens' bytes, one behind the other
  size_t data_size;
  const uint64_t* offsets;  // [vocab_size + 1] into data; an id without a token has no bytes
  const uint8_t* special;   // [vocab_size] not 0: never part of a text
  size_t vocab_size;
};
// Each of `eos_ids` may end a text, and is never part of one.
int vtf_grammar_factory_new(const struct VtfVocabulary* vocabulary, const uint32_t* eos_ids,
                            size_t num_eos_ids, struct VtfGrammarFactory** out,
                            struct VtfBytes* error);
void vtf_grammar_factory_free(struct VtfGrammarFactory* value);

// One text's place in a grammar, which may outlive the factory. For one thread at a time.
struct VtfGrammar;

enum VtfConstraintKind {
  VTF_JSON_OBJECT = 1,  // no text
  VTF_JSON_SCHEMA = 2,
  VTF_REGEX = 3,
  VTF_LARK = 4,
};
int vtf_grammar_new(const struct VtfGrammarFactory* factory, int32_t kind, const uint8_t* text,
                    size_t size, struct VtfGrammar** out, struct VtfBytes* error);
// A second one at the same place. For the thread that has `value`.
int vtf_grammar_clone(const struct VtfGrammar* value, struct VtfGrammar** out,
                      struct VtfBytes* error);
void vtf_grammar_free(struct VtfGrammar* value);

// One bit an id, bit i % 32 of word i / 32, of (vocab_size + 31) / 32 words.
int vtf_grammar_mask(struct VtfGrammar* value, uint32_t* mask, size_t num_words,
                     struct VtfBytes* error);
// A token that does not fit is an error that leaves everything as it was.
int vtf_grammar_commit(struct VtfGrammar* value, uint32_t token, struct VtfBytes* error);
int vtf_grammar_rollback(struct VtfGrammar* value, size_t num_tokens, struct VtfBytes* error);

enum VtfGrammarFlags { VTF_GRAMMAR_MAY_END = 1, VTF_GRAMMAR_MUST_END = 2 };
uint32_t vtf_grammar_flags(const struct VtfGrammar* value);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // VERBATIM_TEXT_FFI_VERBATIM_TEXT_FFI_H_
