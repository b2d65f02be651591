// CompletionServer: one OpenAI-compatible server asked for one answer, whatever dialect it speaks.
// Not the comparison of answers (remote_flips.h).
#ifndef VERBATIM_MEASURE_COMPLETION_SERVER_H_
#define VERBATIM_MEASURE_COMPLETION_SERVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/draft_counts.h"
#include "measure/flip_prompts.h"
#include "measure/http_client.h"
#include "verbatim/status.h"

namespace verbatim {

struct AnsweredToken {
  std::string text = {};  // as the server spells it; empty if it tells ids alone
  int64_t id = -1;        // -1: not told
  // Best minus second-best log-probability, and which two these are; where alternatives are told.
  std::optional<float> gap = {};
  std::string best = {}, second = {};
};

struct Answer {
  std::vector<AnsweredToken> tokens = {};  // empty: the server offers no log-probabilities
  bool has_ids = false;                    // every token has one
  std::string text = {};                   // message content, or the completion
  std::string reasoning = {};              // reasoning_content, or reasoning
  std::string tool_calls = {};             // as JSON, empty if there are none
  int64_t completion_tokens = 0;           // of usage; 0: not told
  std::optional<DraftCounts> drafts = {};  // of this request, where the server tells
  // The server times its answers in a form that has draft counts when there are drafts
  // (llama.cpp's "timings").
  bool would_tell_drafts = false;

  // No channel has anything to compare.
  bool IsEmpty() const { return text.empty() && reasoning.empty() && tool_calls.empty(); }
};

enum class Endpoint { kCompletions, kChat };

struct CompletionOptions {
  int64_t max_tokens = 128;
  uint64_t seed = 0;
  std::string model = {};    // empty: the first of /v1/models
  std::string api_key = {};  // empty: none
  bool logprobs = true;      // ask for them; a server that refuses them is asked without
};

// Takes apart the body of an answer of status 200. `where` names the server. kCorrupt: not JSON, or
// no answer of the endpoint.
Expected<Answer> ParseAnswer(std::string_view body, Endpoint endpoint, const std::string& where);

class CompletionServer {
 public:
  // `name` is for errors: "baseline". `client` is for what is above /v1.
  CompletionServer(std::string name, const HttpUrl& url, std::unique_ptr<HttpClient> client,
                   CompletionOptions options);

  // Finds out the model's name. Errors: those of Ask.
  Status Connect();
  // The prompt's messages, or its text as one user message, at the chat endpoint. Errors: those of
  // HttpClient::Send and ParseAnswer, kUnsupported (a status of 404 or 405), kIo (another one).
  Expected<Answer> Ask(const FlipPrompt& prompt, Endpoint endpoint);
  // Of /metrics; nullopt: no such page, or without draft counters.
  Expected<std::optional<DraftCounts>> Metrics();

  const std::string& name() const { return name_; }
  const std::string& model() const { return options_.model; }
  // The same, once, without asking for log-probabilities; and from now on.
  Expected<Answer> AskForText(const FlipPrompt& prompt, Endpoint endpoint);
  void StopAskingForLogprobs() { detail_ = Detail::kText; }

 private:
  // What of its tokens the server is asked to tell; less when it refuses.
  enum class Detail { kText, kTokens, kIds };

  std::string BodyOf(const FlipPrompt& prompt, Endpoint endpoint) const;
  Expected<HttpResponse> Send(const std::string& path, const std::string& body);

  std::string name_;
  std::string where_;  // for errors: name and address
  std::unique_ptr<HttpClient> client_;
  CompletionOptions options_;
  Detail detail_;
};

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_COMPLETION_SERVER_H_
