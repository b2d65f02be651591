// Answers in pieces, and what clients make of a stream of them, for tests of the writers. Not the
// writers themselves.
#ifndef VERBATIM_TESTS_SERVE_API_ANSWER_SUPPORT_H_
#define VERBATIM_TESTS_SERVE_API_ANSWER_SUPPORT_H_

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api/answer_writer.h"

namespace verbatim::serve::testing {

// One token of a choice and what its text let the parser say.
struct Step {
  ReportedToken token;
  std::vector<AnswerDelta> deltas;
};

struct ChoiceScript {
  std::vector<Step> steps;
  std::vector<AnswerDelta> last;  // behind the last token
  ChoiceEnd end;
};

struct AnswerScript {
  AnswerRequest request;
  AnswerHead head;
  std::vector<ChoiceScript> choices;
};

// A random answer of an API: kinds in any order, text of one to four bytes a character, tokens that
// end inside of characters, options on and off.
AnswerScript RandomAnswer(Api api, std::mt19937_64& random);

// The parts of all choices, in an order in which they may come: each choice's steps cut at random,
// texts of deltas cut once more.
std::vector<AnswerPart> RandomParts(const AnswerScript& script, std::mt19937_64& random);

// One part a step.
std::vector<AnswerPart> PartsByStep(const AnswerScript& script);

// All bytes of an answer.
std::string Write(const AnswerScript& script, const std::vector<AnswerPart>& parts, bool stream);

struct SseMessage {
  std::string event;  // "" without such a line
  std::string data;
};
// Every event of a stream; fails the test for bytes that are no events.
std::vector<SseMessage> ParseSse(std::string_view stream);

// What a client has at the end of a stream: the same JSON as that of the whole answer.
Json Assemble(const AnswerScript& script, std::string_view stream);

}  // namespace verbatim::serve::testing

#endif  // VERBATIM_TESTS_SERVE_API_ANSWER_SUPPORT_H_
