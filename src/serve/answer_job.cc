// The engine's thread only puts tokens down; parsing and writing happen on the job's strand.
#include "serve/answer_job.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "measure/receipt.h"

namespace verbatim::serve {
namespace {

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string_view EndpointName(Api api) {
  switch (api) {
    case Api::kChatCompletions:
      return "/v1/chat/completions";
    case Api::kCompletions:
      return "/v1/completions";
    case Api::kResponses:
      return "/v1/responses";
    case Api::kMessages:
      return "/v1/messages";
  }
  return "";
}

ParsedRequest Parse(Api api, const Json& body, const ApiLimits& limits) {
  switch (api) {
    case Api::kCompletions:
      return ParseCompletions(body, limits);
    case Api::kResponses:
      return ParseResponses(body, limits);
    case Api::kMessages:
      return ParseMessages(body, limits);
    case Api::kChatCompletions:
      break;
  }
  return ParseChatCompletions(body, limits);
}

// Nobody reads it.
ApiError ClientGone() { return {.status = 499, .type = "client_gone", .message = "client gone"}; }

// Memory that is not to be had, most likely.
ApiError ServerFault(const std::exception& error) {
  return {.status = 500,
          .type = "server_error",
          .message = fmt::format("The server could not answer this request: {}.", error.what())};
}

}  // namespace

ApiError ShuttingDown() {
  return {.status = 503,
          .type = "unavailable_error",
          .code = "shutting_down",
          .message = "The server is shutting down; try the request again in a moment.",
          .retry_after_s = 1};
}

void RespondError(HttpExchange& exchange, const ApiError& error, Api api) {
  std::vector<HttpHeader> headers = {{"Content-Type", "application/json"}};
  if (error.retry_after_s > 0) {
    headers.push_back({"Retry-After", fmt::format("{}", error.retry_after_s)});
  }
  exchange.Respond(error.status, std::move(headers),
                   ErrorJson(error, api, exchange.request().request_id));
}

AnswerJob::AnswerJob(const AnswerContext& context, std::shared_ptr<Strand> strand, Api api,
                     std::shared_ptr<HttpExchange> exchange)
    : context_(context), strand_(std::move(strand)), api_(api), exchange_(std::move(exchange)) {}

void AnswerJob::Start(const AnswerContext& context, const Strands& strands, Api api,
                      std::shared_ptr<HttpExchange> exchange,
                      std::shared_ptr<const void> planning) {
  const std::shared_ptr<AnswerJob> job(
      new AnswerJob(context, strands.writing, api, std::move(exchange)));
  const auto begin = [job, planning = std::move(planning)](std::optional<ApiError> error) {
    job->strand_->Post([job, planning, error = std::move(error)] { job->Begin(error); });
  };
  const auto plan = [job, begin] {
    // It may have waited here for other requests' grammars.
    begin(job->context_.loop.draining() ? std::optional(ShuttingDown())
                                        : job->Try([&] { return job->Plan(); }));
  };
  strands.parsing->Post([job, begin, plan, compiling = strands.compiling] {
    if (auto error = job->Try([&] { return job->ReadBody(); })) return begin(std::move(error));
    if (job->Compiles()) return compiling->Post(plan);
    plan();
  });
}

std::optional<ApiError> AnswerJob::Try(const std::function<std::optional<ApiError>()>& step) const {
  // Work for a client that does not wait for it is work that others wait for.
  if (exchange_->gone()) return ClientGone();
  try {
    return step();
  } catch (const std::exception& error) {
    return ServerFault(error);
  }
}

void AnswerJob::Begin(const std::optional<ApiError>& error) {
  if (exchange_->gone()) return CancelAll();
  if (error) return Refuse(*error);
  Guard([this] { Submit(); });
}

void AnswerJob::Guard(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    // What was to be written may be lost: an answer with a hole must not look like a whole one.
    if (std::exchange(done_, true)) return;
    for (const Ticket ticket : tickets_) context_.loop.Cancel(ticket);
    const ApiError fault = ServerFault(error);
    if (streaming_) {
      exchange_->Abort();
    } else {
      RespondError(*exchange_, fault, api_);
    }
    LogEnd(fault.status, fault.message);
  }
}

bool AnswerJob::Compiles() const {
  return request_.constraint.kind != ConstraintKind::kNone || request_.demands_call();
}

std::optional<ApiError> AnswerJob::ReadBody() {
  auto body = ParseBody(exchange_->request().body, context_.limits);
  if (auto* error = std::get_if<ApiError>(&body)) return std::move(*error);
  auto parsed = Parse(api_, std::get<Json>(body), context_.limits);
  if (auto* error = std::get_if<ApiError>(&parsed)) return std::move(*error);
  request_ = std::get<AnswerRequest>(std::move(parsed));
  if (!request_.model.empty() && request_.model != context_.model_name) {
    return ApiError{.status = 404,
                    .code = "model_not_found",
                    .param = "model",
                    .message = fmt::format("model: expected {}, received {}", context_.model_name,
                                           request_.model.substr(0, 200))};
  }
  return std::nullopt;
}

std::optional<ApiError> AnswerJob::Plan() {
  auto plan = PlanAnswer(context_.engine, context_.defaults, request_);
  if (auto* error = std::get_if<ApiError>(&plan)) return std::move(*error);
  plan_ = std::get<AnswerPlan>(std::move(plan));
  writer_ = MakeAnswerWriter(request_,
                             {.id = exchange_->request().request_id,
                              .created = std::chrono::duration_cast<std::chrono::seconds>(
                                             std::chrono::system_clock::now().time_since_epoch())
                                             .count(),
                              .model = context_.model_name,
                              .system_fingerprint = context_.system_fingerprint,
                              .prompt_tokens = plan_.prompt_tokens});
  beginning_ = writer_->Begin();
  choices_.resize(plan_.requests.size());
  for (Choice& choice : choices_) {
    choice.in_reasoning = plan_.parser.starts_in_reasoning;
    if (api_ != Api::kCompletions) {
      choice.parser = MakeAnswerParser(context_.defaults.format, plan_.parser);
    }
  }
  return std::nullopt;
}

void AnswerJob::Submit() {
  std::vector<EngineLoop::Job> jobs;
  jobs.reserve(plan_.requests.size());
  const auto self = shared_from_this();
  for (size_t i = 0; i < plan_.requests.size(); ++i) {
    const int choice = static_cast<int>(i);
    EngineLoop::Job& job = jobs.emplace_back();
    job.request = plan_.requests[i];
    job.request.on_token = [self, choice](const TokenEvent& event) {
      self->OnToken(choice, event);
    };
    job.on_step = [self] { self->Schedule(); };
    job.on_end = [self, choice](Expected<Result> result) {
      self->OnEnd(choice, std::move(result));
    };
  }
  auto tickets = context_.loop.Submit(std::move(jobs));
  if (!tickets.ok()) {
    if (tickets.status().code() == StatusCode::kInvalidArgument) {
      return Refuse(ToApiError(tickets.status(), "n"));
    }
    if (tickets.status().code() == StatusCode::kCancelled) return Refuse(ShuttingDown());
    ApiError error = ToApiError(tickets.status());
    error.status = 429;
    error.type = "rate_limit_error";
    error.code = "queue_full";
    error.retry_after_s = 1;
    return Refuse(error);
  }
  tickets_ = *std::move(tickets);
  exchange_->OnGone([self] { self->strand_->Post([self] { self->CancelAll(); }); });
  if (!request_.echo) return;
  for (size_t i = 0; i < choices_.size(); ++i) {
    Write({.choice = static_cast<int>(i),
           .deltas = {{.kind = AnswerDelta::Kind::kContent,
                       .tool_call = 0,
                       .text = plan_.prompt_texts[i / static_cast<size_t>(request_.n)]}},
           .tokens = {}});
  }
}

void AnswerJob::OnToken(int choice, const TokenEvent& event) {
  Token token{.choice = choice,
              .token = {.id = event.token_id,
                        .drafted = event.drafted,
                        .block = event.round,
                        .row = event.row,
                        .block_rows = event.num_rows},
              .text = std::string(event.text),
              .time = Clock::now()};
  if (event.logprobs != nullptr) token.token.logprobs = *event.logprobs;
  const std::lock_guard lock(inbox_mutex_);
  tokens_.push_back(std::move(token));
}

void AnswerJob::OnEnd(int choice, Expected<Result> result) {
  {
    const std::lock_guard lock(inbox_mutex_);
    ends_.push_back({choice, std::move(result)});
  }
  Schedule();
}

void AnswerJob::Schedule() {
  {
    const std::lock_guard lock(inbox_mutex_);
    if (std::exchange(scheduled_, true)) return;
  }
  strand_->Post([self = shared_from_this()] { self->Guard([&] { self->Drain(); }); });
}

void AnswerJob::Drain() {
  std::vector<Token> tokens;
  std::vector<End> ends;
  {
    const std::lock_guard lock(inbox_mutex_);
    scheduled_ = false;
    tokens.swap(tokens_);
    ends.swap(ends_);
  }
  for (size_t first = 0; first < tokens.size() && !done_;) {
    AnswerPart part{.choice = tokens[first].choice, .deltas = {}, .tokens = {}};
    for (; first < tokens.size() && tokens[first].choice == part.choice; ++first) {
      TakeToken(tokens[first], part);
    }
    Write(part);
  }
  for (End& end : ends) TakeEnd(std::move(end));
}

void AnswerJob::TakeToken(const Token& token, AnswerPart& part) {
  Choice& choice = choices_[token.choice];
  ++num_tokens_;
  if (choice.last_token) {
    context_.metrics.ObserveInterToken(Seconds(token.time - *choice.last_token));
  } else {
    context_.metrics.ObserveFirstToken(Seconds(token.time - arrived_));
  }
  choice.last_token = token.time;
  if (choice.parser == nullptr) {
    part.deltas.push_back(
        {.kind = AnswerDelta::Kind::kContent, .tool_call = 0, .text = token.text});
  } else {
    const size_t before = part.deltas.size();
    choice.parser->Push(token.text, part.deltas);
    for (size_t i = before; i < part.deltas.size(); ++i) {
      const AnswerDelta::Kind kind = part.deltas[i].kind;
      choice.called_tools |= kind == AnswerDelta::Kind::kToolCall;
      choice.in_reasoning = kind == AnswerDelta::Kind::kReasoning;
    }
    choice.reasoning_tokens += choice.in_reasoning ? 1 : 0;
  }
  if (request_.sampling.logprobs < 0 && !request_.token_details) return;
  ReportedToken& reported = part.tokens.emplace_back(token.token);
  reported.num_deltas = static_cast<int>(part.deltas.size());
  const auto bytes_of = [this](int32_t id) {
    const auto bytes = context_.engine.TokenBytes(id);
    return bytes.ok() ? std::string(*bytes) : std::string();
  };
  reported.text = bytes_of(reported.id);
  for (const TokenLogprob& top : reported.logprobs.top_raw) {
    reported.top.push_back(bytes_of(top.token_id));
  }
}

void AnswerJob::Write(const AnswerPart& part) {
  if (!part.deltas.empty() || !part.tokens.empty()) Send(writer_->Part(part));
}

void AnswerJob::Send(std::string bytes) {
  if (done_) return;
  if (!request_.stream) {
    body_ += bytes;
    return;
  }
  if (!streaming_) {
    streaming_ = true;
    exchange_->Start(200, {{"Content-Type", std::string(writer_->content_type())},
                           {"Cache-Control", "no-cache"},
                           {"X-Accel-Buffering", "no"}});
    bytes.insert(0, std::exchange(beginning_, {}));
  }
  if (!bytes.empty() && !exchange_->Write(std::move(bytes))) CancelAll();
}

std::string AnswerJob::ReceiptOf(const Request& request, const Result& result) const {
  const auto receipt = MakeReceipt(context_.engine.info(), context_.identity, request, result);
  return receipt.ok() ? ReceiptJson(*receipt) : std::string();
}

void AnswerJob::TakeEnd(End end) {
  Choice& choice = choices_[end.choice];
  const Request& request = plan_.requests[end.choice];
  ++num_ended_;
  if (!end.result.ok()) {
    Fail(ToApiError(end.result.status()));
  } else {
    const Result& result = *end.result;
    context_.metrics.CountChoice(request, result,
                                 {.queue = result.timings.queue_ms / 1000,
                                  .prefill = result.timings.prompt_ms / 1000,
                                  .decode = result.timings.predicted_ms / 1000,
                                  .whole = Seconds(Clock::now() - arrived_)});
    if (result.finish_reason == FinishReason::kError) {
      Fail(ToApiError(result.error));
    } else if (result.finish_reason == FinishReason::kCancelled) {
      Fail(ShuttingDown());
    } else if (!done_) {
      if (choice.parser != nullptr) {
        AnswerPart rest{.choice = end.choice, .deltas = {}, .tokens = {}};
        choice.parser->Finish(rest.deltas);
        for (const AnswerDelta& delta : rest.deltas) {
          choice.called_tools |= delta.kind == AnswerDelta::Kind::kToolCall;
        }
        Write(rest);
      }
      Send(writer_->EndChoice(
          {.choice = end.choice,
           .finish_reason = result.finish_reason,
           .called_tools = choice.called_tools && !choice.parser->has_unfinished_call(),
           .matched_stop = result.matched_stop.value_or(""),
           .has_matched_stop = result.matched_stop.has_value(),
           .logits_sha256 = result.logits_sha256,
           .receipt = request_.receipt ? ReceiptOf(request, result) : "",
           .prompt_tokens = static_cast<int64_t>(request.prompt_token_ids.size()),
           .cached_prompt_tokens = result.cached_prompt_tokens,
           .completion_tokens = static_cast<int64_t>(result.token_ids.size()),
           .reasoning_tokens = choice.reasoning_tokens,
           .speculation_kind = std::string(SpeculationKindName(request.speculation.kind)),
           .speculation = result.speculation,
           .timings = result.timings}));
    }
  }
  if (num_ended_ == static_cast<int>(choices_.size()) && !done_) Finish();
}

void AnswerJob::Finish() {
  Send(writer_->End());
  if (done_) return;  // the client has gone
  done_ = true;
  if (request_.stream) {
    exchange_->End();
  } else {
    exchange_->Respond(200, {{"Content-Type", std::string(writer_->content_type())}},
                       std::move(body_));
  }
  LogEnd(200, "ok");
}

void AnswerJob::Refuse(const ApiError& error) {
  if (std::exchange(done_, true)) return;
  RespondError(*exchange_, error, api_);
  LogEnd(error.status, error.code.empty() ? error.type : error.code);
}

void AnswerJob::Fail(const ApiError& error) {
  if (done_) return;
  if (streaming_) {
    exchange_->Write(writer_->Fail(error));
    exchange_->End();
    done_ = true;
    LogEnd(200, error.code.empty() ? error.type : error.code);
  } else {
    Refuse(error);
  }
  for (const Ticket ticket : tickets_) context_.loop.Cancel(ticket);
}

void AnswerJob::CancelAll() {
  for (const Ticket ticket : tickets_) context_.loop.Cancel(ticket);
  if (std::exchange(done_, true)) return;
  context_.metrics.CountCancelled();
  LogEnd(499, "client gone");
}

void AnswerJob::LogEnd(int status, std::string_view outcome) {
  context_.metrics.CountRequest(EndpointName(api_), status);
  context_.log.Write(status < 500 ? LogLevel::kInfo : LogLevel::kError, "request",
                     {{"id", exchange_->request().request_id},
                      {"endpoint", EndpointName(api_)},
                      {"status", status},
                      {"outcome", outcome},
                      {"stream", request_.stream},
                      {"choices", choices_.size()},
                      {"prompt_tokens", plan_.prompt_tokens},
                      {"tokens", num_tokens_},
                      {"seconds", Seconds(Clock::now() - arrived_)}});
}

}  // namespace verbatim::serve
