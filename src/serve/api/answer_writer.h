// AnswerWriter: an answer's events to the bytes of one API, streamed or whole. Not the transport,
// and not where the events come from.
#ifndef VERBATIM_SERVE_API_ANSWER_WRITER_H_
#define VERBATIM_SERVE_API_ANSWER_WRITER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api/answer_request.h"
#include "text/answer_parser.h"
#include "verbatim/request.h"

namespace verbatim::serve {

// Known before the first token.
struct AnswerHead {
  std::string id = {};  // without the API's prefix ("chatcmpl-", "cmpl-", "resp_", "msg_")
  int64_t created = 0;  // seconds since 1970
  std::string model = {};
  std::string system_fingerprint = {};
  int64_t prompt_tokens = 0;  // of all prompts
};

struct ReportedToken {
  int32_t id = 0;
  std::string text = {};              // the token's own bytes; need not be UTF-8
  TokenLogprobs logprobs = {};        // if asked for
  std::vector<std::string> top = {};  // bytes of logprobs.top_raw's tokens, if asked for
  bool drafted = false;               // had been drafted, and the draft was right
  int64_t block = 0;                  // which decode step of the choice made it; 0: the prompt's
  int row = 0;                        // of that block
  int block_rows = 1;                 // rows of that block
  // Of the part's deltas, how many were known once this token had been read; -1: all of them. The
  // Responses API has log probabilities of the text alone and needs it: without, which tokens count
  // as text would depend on the cut.
  int num_deltas = -1;
};

// What became known at once: whatever a step accepted.
struct AnswerPart {
  int choice = 0;                          // prompt index * n + choice
  std::vector<AnswerDelta> deltas = {};    // kCompletions: kContent alone
  std::vector<ReportedToken> tokens = {};  // in order; empty if nothing asks for them
};

struct ChoiceEnd {
  int choice = 0;
  FinishReason finish_reason = FinishReason::kStop;  // kStop or kLength
  bool called_tools = false;      // tool calls were parsed, and all of them are whole
  std::string matched_stop = {};  // empty: none
  bool has_matched_stop = false;
  std::string logits_sha256 = {};  // if asked for
  std::string receipt = {};        // its JSON text, if asked for
  int64_t prompt_tokens = 0;
  int64_t cached_prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t reasoning_tokens = 0;
  std::string speculation_kind = {};  // "off", "mtp", "ngram"
  SpeculationStats speculation = {};
  Timings timings = {};
};

// Each call returns bytes to send now; empty: nothing yet. A whole (not streamed) answer comes from
// End alone. The order: Begin, any number of Part, EndChoice once for each choice, behind its last
// part, End; or Fail in place of what is left. For every way of cutting an answer into parts, the
// concatenated deltas that a client reads are the same, and equal to the whole answer.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual std::string_view content_type() const = 0;
  virtual std::string Begin() = 0;
  virtual std::string Part(const AnswerPart& part) = 0;
  virtual std::string EndChoice(const ChoiceEnd& end) = 0;
  virtual std::string End() = 0;
  // A failure after Begin: an error event, after which the connection closes without the usual end.
  virtual std::string Fail(const ApiError& error) = 0;
};

std::unique_ptr<AnswerWriter> MakeAnswerWriter(const AnswerRequest& request, AnswerHead head);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_ANSWER_WRITER_H_
