// Server: the routes, who may use them, and the parts behind them. Not the transport (http/), and
// not the command line.
#ifndef VERBATIM_SERVE_SERVER_H_
#define VERBATIM_SERVE_SERVER_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model_identity.h"
#include "serve/http/api_keys.h"
#include "serve/http/http_server.h"
#include "serve/request_log.h"
#include "verbatim/engine.h"

namespace verbatim::serve {

struct ServerOptions {
  HttpServerOptions http = {};
  std::optional<ApiKeys> api_keys = {};        // none: everybody may ask
  bool allow_public = false;                   // without a key, on an address that others reach
  std::vector<std::string> cors_origins = {};  // exactly these, or "*"; none: no CORS
  std::string model_name = {};                 // as clients name the model
  SpeculationOptions speculation = {};         // of requests that name none
  int max_jobs = 64;                           // answers running and waiting; beyond that 429
  // Each for parsing and templates, for grammars, and for writing.
  int num_task_threads = 2;
  LogOptions log = {};
};

class Server {
 public:
  // Serves until destroyed. `engine` must outlive it and be called by nobody else; `identity` is
  // its model's. Errors: those of HttpServer::Start and RequestLog::Open; kInvalidArgument: an
  // address that others reach, without a key.
  static Expected<std::unique_ptr<Server>> Start(Engine& engine, ModelIdentity identity,
                                                 const ServerOptions& options);
  virtual ~Server() = default;

  virtual std::string address() const = 0;
  virtual int port() const = 0;  // 0 for a Unix socket
  // Takes no more requests, lets those there end, and after `limit` fails what is left with a clear
  // error. True: all had ended by themselves.
  virtual bool Drain(std::chrono::milliseconds limit) = 0;
  // After Drain: a request is still being prepared, such as by a grammar's compilation, which can't
  // be stopped. Its client has its error; destroying the server would wait for it.
  virtual bool busy() const = 0;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_SERVER_H_
