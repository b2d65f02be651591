// The fields that several APIs share: sampling, ends, thinking, this server's extensions, and those
// that are refused. Not messages, tools and constraints.
#ifndef VERBATIM_SERVE_API_REQUEST_FIELDS_H_
#define VERBATIM_SERVE_API_REQUEST_FIELDS_H_

#include <initializer_list>
#include <string_view>

#include "serve/api/field_reader.h"

namespace verbatim::serve {

// temperature, top_p, top_k, min_p, penalties, logit_bias, seed, min_tokens, bans, ignore_eos. All
// APIs take all of them; an API that has no such field of its own has no other use for the name.
void ReadSampling(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request);

// The first of `keys` that is given. More than the context is the context: the answer ends there.
void ReadMaxTokens(const FieldReader& body, std::initializer_list<std::string_view> keys,
                   const ApiLimits& limits, AnswerRequest& request);

void ReadStop(const FieldReader& body, std::string_view key, const ApiLimits& limits,
              AnswerRequest& request);

// stream, stream_options.include_usage, model.
void ReadDelivery(const FieldReader& body, AnswerRequest& request);

// n, and best_of, which may only equal it.
void ReadChoices(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request);

// reasoning_effort, reasoning.effort, thinking.type, enable_thinking, chat_template_kwargs (the
// last of these counts), add_generation_prompt.
void ReadThinking(const FieldReader& body, AnswerRequest& request);

// contract, receipt, logits_digest, token_details, speculation.
void ReadExtensions(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request);

// Fields of other servers and of OpenAI that would change the answer and have no meaning here:
// refused, unless their value changes nothing.
void RefuseUnsupported(const FieldReader& body);

// Faults that only several fields together show: min_tokens above max_tokens, a constraint beside a
// forced tool call.
void CheckTogether(const FieldReader& body, const AnswerRequest& request);

// All of the above but ReadMaxTokens, ReadStop, ReadChoices and ReadThinking.
void ReadCommon(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_REQUEST_FIELDS_H_
