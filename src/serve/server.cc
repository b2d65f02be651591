// A table of routes; each answers at once or on a strand.
#include "serve/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <utility>

#include "serve/answer_job.h"
#include "serve/api/openapi.h"
#include "serve/api/small_endpoints.h"
#include "serve/cors.h"
#include "serve/http/local_host.h"
#include "serve/page/page_assets.h"
#include "serve/transport_error.h"
#include "verbatim/version.h"

namespace verbatim::serve {
namespace {

using Exchange = std::shared_ptr<HttpExchange>;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kModelPrefix = "/v1/models/";
// Prometheus' text format.
constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// The model, the arithmetic and the program that an answer's bytes depend on.
std::string Fingerprint(const EngineInfo& info, const ModelIdentity& identity) {
  return fmt::format("vb-{}-{}-{}", identity.model_sha256.substr(0, 16), info.numerics, Version());
}

class VerbatimServer : public Server {
 public:
  VerbatimServer(Engine& engine, ModelIdentity identity, const ServerOptions& options,
                 std::unique_ptr<RequestLog> log)
      : options_(options),
        engine_(engine),
        log_(std::move(log)),
        metrics_(engine.info(), options.model_name),
        loop_(engine, options.max_jobs),
        started_(std::chrono::system_clock::now()),
        context_{.engine = engine,
                 .loop = loop_,
                 .metrics = metrics_,
                 .log = *log_,
                 .identity = std::move(identity),
                 .model_name = options.model_name,
                 .system_fingerprint = {},
                 .limits = {.default_sampling = engine.info().default_sampling,
                            .context = engine.info().context,
                            .vocab_size = engine.info().vocab_size},
                 .defaults = {.speculation = options.speculation}},
        writers_(TaskPool::Create(options.num_task_threads)),
        compilers_(TaskPool::Create(options.num_task_threads)),
        parsers_(TaskPool::Create(options.num_task_threads)) {
    context_.system_fingerprint = Fingerprint(engine.info(), context_.identity);
  }

  // http_ itself goes last, with the other members: tasks that are still queued read its counters.
  ~VerbatimServer() override {
    if (http_ != nullptr) http_->Stop();  // from here on no handler posts to what goes next
    loop_.Stop();
    parsers_.reset();  // each posts to the next
    compilers_.reset();
    writers_.reset();  // runs what the loop's end posted, too
  }

  Status Listen() {
    auto started = HttpServer::Start(
        options_.http, [this](Exchange exchange) { Handle(std::move(exchange)); },
        [this](const HttpRequest& request, int status, std::string_view message) {
          return MakeTransportError(request, status, message);
        });
    if (!started.ok()) return started.status();
    http_ = *std::move(started);
    http_->Begin();  // not before http_ is there: /metrics reads it, on another thread
    return {};
  }

  std::string address() const override { return http_->address(); }
  int port() const override { return http_->port(); }

  bool Drain(std::chrono::milliseconds limit) override {
    draining_ = true;
    loop_.Drain();
    http_->Drain();
    const bool all_ended = loop_.WaitIdle(limit);
    loop_.Stop();
    FailPlanning();
    // What was written must reach its readers; a slow one is not waited for.
    constexpr std::chrono::seconds kLastWrites{2};
    return http_->WaitDrained(kLastWrites) && all_ended;
  }

  bool busy() const override {
    const std::lock_guard lock(planning_mutex_);
    return !planning_.empty();
  }

 private:
  using Handler = void (VerbatimServer::*)(const Exchange&);
  struct Route {
    std::string_view method;
    std::string_view path;
    Handler handler;
    bool open = false;  // needs no key
  };

  static std::span<const Route> Routes() {
    static constexpr std::array kRoutes = {
        Route{"POST", "/v1/chat/completions", &VerbatimServer::Answer<Api::kChatCompletions>},
        Route{"POST", "/v1/completions", &VerbatimServer::Answer<Api::kCompletions>},
        Route{"POST", "/v1/responses", &VerbatimServer::Answer<Api::kResponses>},
        Route{"POST", "/v1/messages", &VerbatimServer::Answer<Api::kMessages>},
        Route{"POST", "/tokenize", &VerbatimServer::Tokenize},
        Route{"POST", "/detokenize", &VerbatimServer::Detokenize},
        Route{"POST", "/apply-template", &VerbatimServer::ApplyTemplate},
        Route{"GET", "/v1/models", &VerbatimServer::Models},
        Route{"GET", "/metrics", &VerbatimServer::Metrics},
        Route{"GET", "/version", &VerbatimServer::TellVersion},
        Route{"GET", "/openapi.json", &VerbatimServer::OpenApi},
        Route{"GET", "/health", &VerbatimServer::Health, true},
        Route{"GET", "/v1/health", &VerbatimServer::Health, true},
    };
    return kRoutes;
  }

  // A path that is none of ours is not told on: every one of a stranger's would be kept for good.
  static std::string_view EndpointLabel(std::string_view path) {
    if (path.starts_with(kModelPrefix)) return "/v1/models/{id}";
    const auto route = std::ranges::find(Routes(), path, &Route::path);
    return route == Routes().end() ? "other" : route->path;
  }

  HttpServer::Error MakeTransportError(const HttpRequest& request, int status,
                                       std::string_view message) {
    HttpServer::Error error;
    error.body =
        ErrorJson(TransportError(status, message), ErrorFormOf(request.path), request.request_id);
    if (AllowsOrigin(options_.cors_origins, request)) AddCorsHeaders(request, error.headers);
    metrics_.CountRequest(EndpointLabel(request.path), status);
    return error;
  }

  // Against DNS rebinding (http/local_host.h), where nothing else says who may ask.
  bool RefusesHost(std::string_view host) const {
    return options_.http.unix_socket.empty() && !options_.api_keys && !options_.allow_public &&
           !IsLocalHostHeader(host, options_.http.host);
  }

  void Handle(Exchange exchange) {
    const HttpRequest& request = exchange->request();
    if (const std::string_view host = request.Header("host"); RefusesHost(host)) {
      return Refuse(exchange, HostNotAllowed(host));
    }
    if (AllowsOrigin(options_.cors_origins, request)) {
      if (request.method == "OPTIONS") return RespondToPreflight(*exchange);
      exchange = WithCors(std::move(exchange));
    }
    const std::string_view method =
        request.method == "HEAD" ? std::string_view("GET") : request.method;
    if (const PageAsset* asset = method == "GET" ? FindPageAsset(request.path) : nullptr) {
      return SendAsset(exchange, *asset);
    }
    const Route* found = nullptr;
    std::string allowed;
    for (const Route& route : Routes()) {
      if (route.path != request.path) continue;
      if (route.method == method) found = &route;
      if (!allowed.empty()) allowed += ", ";
      allowed += route.method;
    }
    static constexpr Route kModelRoute = {"GET", "/v1/models/{id}", &VerbatimServer::OneModel};
    if (found == nullptr && allowed.empty() && request.path.starts_with(kModelPrefix)) {
      if (method == "GET") found = &kModelRoute;
      allowed = "GET";
    }
    if (found == nullptr || !found->open) {
      if (options_.api_keys && !options_.api_keys->Allow(request)) {
        return Refuse(exchange, InvalidKey(), {{"WWW-Authenticate", "Bearer"}});
      }
    }
    if (found == nullptr && allowed.empty()) return Refuse(exchange, NoSuchPath(request.path));
    if (found == nullptr) {
      return Refuse(exchange, MethodNotAllowed(allowed, request.method), {{"Allow", allowed}});
    }
    (this->*found->handler)(exchange);
  }

  // Answers: each has a strand of its own.
  template <Api kApi>
  void Answer(const Exchange& exchange) {
    AnswerJob::Start(context_,
                     {.parsing = parsers_->MakeStrand(),
                      .compiling = compilers_->MakeStrand(),
                      .writing = writers_->MakeStrand()},
                     kApi, exchange, Enlist(exchange));
  }

  // In planning_ until the result goes.
  std::shared_ptr<const void> Enlist(const Exchange& exchange) {
    const std::lock_guard lock(planning_mutex_);
    const auto place = planning_.insert(planning_.end(), exchange);
    return {this, [this, place](const void*) {
              Exchange last;  // let go of without the lock
              const std::lock_guard lock_again(planning_mutex_);
              last.swap(*place);
              planning_.erase(place);
            }};
  }

  void FailPlanning() {
    const std::lock_guard lock(planning_mutex_);
    for (const Exchange& exchange : planning_) {
      // Nothing if it has its answer; and what comes after this is not sent.
      RespondError(*exchange, ShuttingDown(), ErrorFormOf(exchange->request().path));
    }
  }

  // Parses, answers with what `answer` makes of it, or refuses.
  template <typename Parse, typename MakeBody>
  void AnswerBody(const Exchange& exchange, Parse parse, MakeBody make_body) {
    parsers_->MakeStrand()->Post([this, exchange, parse, make_body] {
      auto body = ParseBody(exchange->request().body, context_.limits);
      if (const auto* error = std::get_if<ApiError>(&body)) return Refuse(exchange, *error);
      auto parsed = parse(std::get<Json>(body), context_.limits);
      if (const auto* error = std::get_if<ApiError>(&parsed)) return Refuse(exchange, *error);
      std::variant<std::string, ApiError> made = make_body(std::get<0>(parsed));
      if (const auto* error = std::get_if<ApiError>(&made)) return Refuse(exchange, *error);
      Respond(exchange, 200, kJson, std::get<std::string>(std::move(made)));
    });
  }

  void Tokenize(const Exchange& exchange) {
    AnswerBody(exchange, ParseTokenize,
               [this](const TokenizeRequest& request) -> std::variant<std::string, ApiError> {
                 auto ids = engine_.Tokenize(request.content);
                 if (!ids.ok()) return ToApiError(ids.status(), "content");
                 return TokenizeJson(*ids);
               });
  }

  void Detokenize(const Exchange& exchange) {
    AnswerBody(exchange, ParseDetokenize,
               [this](const DetokenizeRequest& request) -> std::variant<std::string, ApiError> {
                 auto text = engine_.Detokenize(request.tokens, false);
                 if (!text.ok()) return ToApiError(text.status(), "tokens");
                 return DetokenizeJson(*text);
               });
  }

  void ApplyTemplate(const Exchange& exchange) {
    AnswerBody(exchange, ParseApplyTemplate,
               [this](const AnswerRequest& request) -> std::variant<std::string, ApiError> {
                 auto text = RenderMessages(engine_, request);
                 if (const auto* error = std::get_if<ApiError>(&text)) return *error;
                 return ApplyTemplateJson(std::get<std::string>(text));
               });
  }

  Json ModelJson() const {
    const EngineInfo& info = engine_.info();
    return {{"id", options_.model_name},
            {"object", "model"},
            {"created",
             std::chrono::duration_cast<std::chrono::seconds>(started_.time_since_epoch()).count()},
            {"owned_by", "verbatim"},
            {"max_model_len", info.context},
            {"meta",
             {{"model_type", info.model_type},
              {"weights", info.weight_types},
              {"vocab_size", info.vocab_size},
              {"has_mtp", info.has_mtp},
              {"model_sha256", context_.identity.model_sha256},
              {"numerics", info.numerics}}}};
  }

  void Models(const Exchange& exchange) {
    RespondJson(exchange, 200, {{"object", "list"}, {"data", Json::array({ModelJson()})}});
  }

  void OneModel(const Exchange& exchange) {
    const std::string_view id =
        std::string_view(exchange->request().path).substr(kModelPrefix.size());
    if (id == options_.model_name) return RespondJson(exchange, 200, ModelJson());
    Refuse(exchange, {.status = 404,
                      .code = "model_not_found",
                      .param = "model",
                      .message = fmt::format("model: expected {}, received {}", options_.model_name,
                                             id.substr(0, 200))});
  }

  void Health(const Exchange& exchange) {
    const EngineInfo& info = engine_.info();
    const ProbeReport& probe = info.probe;
    const EngineStats stats = loop_.stats();
    RespondJson(exchange, draining_ ? 503 : 200,
                {{"status", draining_ ? "draining" : "ok"},
                 {"model", options_.model_name},
                 {"contract",
                  {{"mode", ContractModeName(info.contract)},
                   {"held", ContractModeName(info.contract_held)},
                   {"verdict", ProbeVerdictName(probe.verdict)},
                   {"reason", info.contract_reason},
                   {"op", probe.op},
                   {"layer", probe.layer},
                   {"differing_bytes", probe.differing_bytes}}},
                 {"speculation",
                  {{"kind", SpeculationKindName(options_.speculation.kind)},
                   {"draft_tokens", options_.speculation.draft_tokens},
                   {"automatic", options_.speculation.automatic}}},
                 {"system_fingerprint", context_.system_fingerprint},
                 {"running", stats.running},
                 {"waiting", stats.waiting}});
  }

  void TellVersion(const Exchange& exchange) {
    RespondJson(exchange, 200, {{"version", Version()}, {"numerics", engine_.info().numerics}});
  }

  void Metrics(const Exchange& exchange) {
    writers_->MakeStrand()->Post([this, exchange] {
      Respond(exchange, 200, kMetricsType,
              metrics_.Page(loop_.stats(), http_->stats(), loop_.TakeLongestStep().count()));
    });
  }

  void OpenApi(const Exchange& exchange) {
    Respond(exchange, 200, kJson, OpenApiDocument(Version(), context_.limits));
  }

  // The same bytes under the same name: a client that has them is told so.
  void SendAsset(const Exchange& exchange, const PageAsset& asset) {
    std::vector<HttpHeader> headers = {
        {"ETag", std::string(asset.etag)},
        {"Cache-Control", "no-cache"},
        {"Content-Security-Policy", std::string(kPageContentSecurityPolicy)},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"}};
    if (exchange->request().Header("if-none-match") == asset.etag) {
      return exchange->Respond(304, std::move(headers), "");
    }
    headers.push_back({"Content-Type", std::string(asset.content_type)});
    exchange->Respond(200, std::move(headers), std::string(asset.bytes));
  }

  void Respond(const Exchange& exchange, int status, std::string_view content_type,
               std::string body, std::vector<HttpHeader> headers = {}) {
    headers.push_back({"Content-Type", std::string(content_type)});
    metrics_.CountRequest(EndpointLabel(exchange->request().path), status);
    exchange->Respond(status, std::move(headers), std::move(body));
  }
  void RespondJson(const Exchange& exchange, int status, const Json& body) {
    Respond(exchange, status, kJson, body.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  void Refuse(const Exchange& exchange, const ApiError& error,
              std::vector<HttpHeader> headers = {}) {
    const HttpRequest& request = exchange->request();
    log_->Write(LogLevel::kInfo, "refused",
                {{"id", request.request_id}, {"status", error.status}, {"code", error.code}});
    Respond(exchange, error.status, kJson,
            ErrorJson(error, ErrorFormOf(request.path), request.request_id), std::move(headers));
  }

  const ServerOptions options_;
  Engine& engine_;
  std::unique_ptr<RequestLog> log_;
  ServerMetrics metrics_;
  EngineLoop loop_;
  const std::chrono::system_clock::time_point started_;
  AnswerContext context_;
  std::atomic<bool> draining_ = false;
  mutable std::mutex planning_mutex_;
  std::list<Exchange> planning_;  // requests that are not with the loop yet
  std::unique_ptr<TaskPool> writers_;
  std::unique_ptr<TaskPool> compilers_;
  std::unique_ptr<TaskPool> parsers_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace

Expected<std::unique_ptr<Server>> Server::Start(Engine& engine, ModelIdentity identity,
                                                const ServerOptions& options) {
  if (options.http.unix_socket.empty() && !IsLoopback(options.http.host) && !options.api_keys &&
      !options.allow_public) {
    return MakeError(StatusCode::kInvalidArgument, "--host",
                     "127.0.0.1 or another address of this machine alone, or an API key",
                     fmt::format("{} without a key", options.http.host),
                     "--api-key-file FILE, or --allow-public if everybody may ask");
  }
  VERBATIM_ASSIGN_OR_RETURN(auto log, RequestLog::Open(options.log));
  auto server =
      std::make_unique<VerbatimServer>(engine, std::move(identity), options, std::move(log));
  VERBATIM_RETURN_IF_ERROR(server->Listen());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace verbatim::serve
