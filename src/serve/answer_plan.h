// AnswerPlan: what an answer asks of the engine: prompts rendered and tokenized, constraints
// compiled, one engine request for each choice. Not the running of them (answer_job.h).
#ifndef VERBATIM_SERVE_ANSWER_PLAN_H_
#define VERBATIM_SERVE_ANSWER_PLAN_H_

#include <string>
#include <variant>
#include <vector>

#include "serve/api/answer_request.h"
#include "text/answer_parser.h"
#include "verbatim/engine.h"

namespace verbatim::serve {

struct AnswerPlan {
  std::vector<Request> requests;          // [prompts * n], without callbacks
  std::vector<std::string> prompt_texts;  // [prompts], for echo
  int64_t prompt_tokens = 0;              // of all prompts
  AnswerParserOptions parser;             // of the chat APIs
};

struct PlanDefaults {
  SpeculationOptions speculation = {};  // of requests that name none
  AnswerFormat format = AnswerFormat::kQwen35;
};

// Takes time (templates, tokenizing, grammars) but no part in the engine's steps; any thread.
std::variant<AnswerPlan, ApiError> PlanAnswer(const Engine& engine, const PlanDefaults& defaults,
                                              const AnswerRequest& answer);

// The prompt of chat messages, rendered.
std::variant<std::string, ApiError> RenderMessages(const Engine& engine,
                                                   const AnswerRequest& answer);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_ANSWER_PLAN_H_
