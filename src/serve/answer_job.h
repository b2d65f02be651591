// AnswerJob: one answer from its request's body to the last byte sent: parse, plan, run, write. Not
// the routes (server.h).
#ifndef VERBATIM_SERVE_ANSWER_JOB_H_
#define VERBATIM_SERVE_ANSWER_JOB_H_

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model_identity.h"
#include "serve/answer_plan.h"
#include "serve/api/answer_request.h"
#include "serve/api/answer_writer.h"
#include "serve/engine_loop.h"
#include "serve/http/http_server.h"
#include "serve/request_log.h"
#include "serve/server_metrics.h"
#include "serve/task_pool.h"
#include "verbatim/engine.h"

namespace verbatim::serve {

// What all answers of a server share; outlives them.
struct AnswerContext {
  const Engine& engine;
  EngineLoop& loop;
  ServerMetrics& metrics;
  RequestLog& log;
  ModelIdentity identity;
  std::string model_name;
  std::string system_fingerprint;
  ApiLimits limits;
  PlanDefaults defaults;
};

// 503: what a request gets that a server which ends can't answer any more.
ApiError ShuttingDown();

// A whole response that is the error, with Retry-After where it tells when.
void RespondError(HttpExchange& exchange, const ApiError& error, Api api);

class AnswerJob : public std::enable_shared_from_this<AnswerJob> {
 public:
  // Where the parts run. They are apart because a grammar of a stranger may take half a minute to
  // compile, for which other answers' tokens, and requests without a grammar, should not wait.
  struct Strands {
    std::shared_ptr<Strand> parsing;
    std::shared_ptr<Strand> compiling;  // plans with a constraint
    std::shared_ptr<Strand> writing;
  };

  // Returns at once. `planning` is let go of when the request is with the engine, or refused.
  static void Start(const AnswerContext& context, const Strands& strands, Api api,
                    std::shared_ptr<HttpExchange> exchange, std::shared_ptr<const void> planning);

 private:
  using Clock = std::chrono::steady_clock;

  struct Token {
    int choice = 0;
    ReportedToken token;
    std::string text;  // what became safe to show
    Clock::time_point time;
  };
  struct End {
    int choice = 0;
    Expected<Result> result;
  };
  // One choice's way through its text.
  struct Choice {
    std::unique_ptr<AnswerParser> parser;  // null: the text is content
    bool in_reasoning = false;
    bool called_tools = false;
    int64_t reasoning_tokens = 0;
    std::optional<Clock::time_point> last_token;
  };

  AnswerJob(const AnswerContext& context, std::shared_ptr<Strand> strand, Api api,
            std::shared_ptr<HttpExchange> exchange);

  // The step's error, or that of an exception in it; of a client that has gone, without the step.
  std::optional<ApiError> Try(const std::function<std::optional<ApiError>()>& step) const;

  // On the strands of their names, one after the other.
  std::optional<ApiError> ReadBody();
  std::optional<ApiError> Plan();
  bool Compiles() const;

  // On the writing strand.
  void Begin(const std::optional<ApiError>& error);
  void Guard(const std::function<void()>& work);  // an exception fails this answer alone
  void Submit();
  void Drain();
  void Write(const AnswerPart& part);
  void TakeToken(const Token& token, AnswerPart& part);
  void TakeEnd(End end);
  void Send(std::string bytes);
  void Refuse(const ApiError& error);
  void Fail(const ApiError& error);
  void Finish();
  void CancelAll();
  void LogEnd(int status, std::string_view outcome);
  std::string ReceiptOf(const Request& request, const Result& result) const;

  // On the engine's thread.
  void OnToken(int choice, const TokenEvent& event);
  void OnEnd(int choice, Expected<Result> result);
  void Schedule();

  const AnswerContext& context_;
  std::shared_ptr<Strand> strand_;  // for writing
  const Api api_;
  std::shared_ptr<HttpExchange> exchange_;
  const Clock::time_point arrived_ = Clock::now();

  AnswerRequest request_;
  AnswerPlan plan_;
  std::unique_ptr<AnswerWriter> writer_;
  std::vector<Choice> choices_;
  std::vector<Ticket> tickets_;
  int num_ended_ = 0;
  bool streaming_ = false;  // the response has begun
  bool done_ = false;       // nothing more is to be sent
  std::string beginning_;   // of a streamed answer, sent with its first event
  std::string body_;        // of a whole answer
  int64_t num_tokens_ = 0;

  std::mutex inbox_mutex_;
  std::vector<Token> tokens_;  // in order, with ends_ behind those of their choices
  std::vector<End> ends_;
  bool scheduled_ = false;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_ANSWER_JOB_H_
