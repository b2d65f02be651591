// What the text of an answer must match, in every way that OpenAI, vLLM, llama.cpp and Anthropic
// have of saying so. Not how it is held (text/grammar.h).
#ifndef VERBATIM_SERVE_API_CONSTRAINT_FIELDS_H_
#define VERBATIM_SERVE_API_CONSTRAINT_FIELDS_H_

#include "serve/api/field_reader.h"

namespace verbatim::serve {

// response_format, guided_json, guided_regex, guided_choice, guided_grammar, structured_outputs,
// json_schema, and `format` of text and output_config: at most one of them.
void ReadConstraint(const FieldReader& body, AnswerRequest& request);

// A regular expression, in the syntax of Rust's regex crate, of exactly these texts.
std::string ChoiceRegex(std::span<const std::string> choices);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_CONSTRAINT_FIELDS_H_
