// What the four APIs' writers share: usage, timings, speculation, tokens, ids. Not an API's own
// shapes.
#ifndef VERBATIM_SERVE_API_WRITER_PARTS_H_
#define VERBATIM_SERVE_API_WRITER_PARTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api/answer_writer.h"
#include "serve/api/json_text.h"

namespace verbatim::serve {

// llama.cpp's names. prompt_n: what was computed, without what the cache had. prompt_ms ends with
// the first token, so that the rates of predicted_... count the tokens after it.
Json TimingsJson(const ChoiceEnd& end);

// vLLM's metrics.speculative_decoding: rates over all drafts proposed; null if there were none.
// Without acceptance_histogram_by_draft_length, whose counts are not kept.
Json SpeculationMetricsJson(const SpeculationStats& stats);

// The raw counts: position i counts from 0 inside a block.
Json SpeculationJson(const ChoiceEnd& end);

// speculation, prompt and completion counts, and, if asked for, logits_sha256 and receipt.
Json VerbatimJson(const ChoiceEnd& end);

// {"token", "logprob", "bytes", "top_logprobs"}: the model's own distribution.
Json LogprobJson(const ReportedToken& token);

// {"id", "text", "bytes", "drafted", "block", "row", "block_rows"}
Json TokenJson(const ReportedToken& token);

// The same for the same answer, choice and call.
std::string ToolCallId(std::string_view prefix, const AnswerHead& head, int choice, int call);

// "stop", "length" or "tool_calls".
std::string_view FinishReasonWord(const ChoiceEnd& end);

// The matched stop string, or null.
Json StopReasonJson(const ChoiceEnd& end);

// Whether `next` can be written as one with `previous`: the same text goes on.
bool Continues(const AnswerDelta& previous, const AnswerDelta& next);

// The deltas without empty ones, neighbours that continue each other joined.
std::vector<AnswerDelta> Joined(const std::vector<AnswerDelta>& deltas);

// An answer's choices and ends, and what of the request a writer needs.
class WriterBase : public AnswerWriter {
 public:
  std::string_view content_type() const final {
    return stream_ ? "text/event-stream" : "application/json";
  }

 protected:
  WriterBase(const AnswerRequest& request, AnswerHead head);

  struct Usage {
    int64_t prompt = 0;
    int64_t cached = 0;
    int64_t completion = 0;
    int64_t reasoning = 0;
  };
  Usage TotalUsage() const;
  // {"prompt_tokens", ...} of chat and completions.
  Json OpenAiUsageJson() const;
  // "metrics" and "timings" of the whole answer, where it has one choice.
  void AddMetrics(Json& body) const;
  void AddTimings(Json& body) const;

  void SetEnd(const ChoiceEnd& end);
  size_t ChoiceIndex(int choice) const;  // checked
  int num_choices() const { return static_cast<int>(ends_.size()); }
  bool single() const { return ends_.size() == 1; }
  const ChoiceEnd& End0() const { return *ends_[0]; }

  const Api api_;
  const bool stream_;
  const bool include_usage_;
  const bool logprobs_;
  const bool token_details_;
  const AnswerHead head_;
  std::vector<std::optional<ChoiceEnd>> ends_;

 private:
  const int n_;
};

std::unique_ptr<AnswerWriter> MakeChatWriter(const AnswerRequest& request, AnswerHead head);
std::unique_ptr<AnswerWriter> MakeCompletionsWriter(const AnswerRequest& request, AnswerHead head);
std::unique_ptr<AnswerWriter> MakeResponsesWriter(const AnswerRequest& request, AnswerHead head);
std::unique_ptr<AnswerWriter> MakeMessagesWriter(const AnswerRequest& request, AnswerHead head);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_WRITER_PARTS_H_
