// The server's threads and its end; one of the two files that include Boost (Asio here).
#include "serve/http/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "serve/http/connection-inl.h"
#include "serve/http/listener-inl.h"

namespace verbatim::serve {
namespace {

class AsioServer final : public HttpServer {
 public:
  explicit AsioServer(std::shared_ptr<ServerCore> core)
      : core_(std::move(core)), work_(asio::make_work_guard(core_->context)) {}

  ~AsioServer() override { AsioServer::Stop(); }

  void Stop() override {
    if (std::exchange(stopped_, true)) return;
    {
      const std::lock_guard lock(core_->mutex);
      core_->stopping = true;
    }
    Drain();
    for (const auto& connection : Connections()) connection->Cut();
    work_.reset();  // the threads end when every operation has been cancelled
    if (threads_.empty()) core_->context.run();
    for (std::thread& thread : threads_) thread.join();
  }

  Status Listen() {
    const HttpServerOptions& options = core_->options;
    if (!options.unix_socket.empty()) {
      address_ = "unix:" + options.unix_socket;
      VERBATIM_ASSIGN_OR_RETURN(auto listener,
                                ListenUnix(core_, options.unix_socket, address_, socket_file_));
      listeners_.push_back(std::move(listener));
      return {};
    }
    const bool v6 = options.host.find(':') != std::string::npos;
    const auto url = [&](int port) {
      return fmt::format(fmt::runtime(v6 ? "http://[{}]:{}" : "http://{}:{}"), options.host, port);
    };
    address_ = url(options.port);
    if (options.host.empty() || options.port < 0 || options.port > 65535) {
      return MakeError(StatusCode::kInvalidArgument, address_, "a host and a port from 0 to 65535",
                       "another", "127.0.0.1 and 8080");
    }
    VERBATIM_ASSIGN_OR_RETURN(auto found, ListenTcp(core_, options.host, options.port, address_));
    listeners_ = std::move(found.all);
    port_ = found.port;
    address_ = url(port_);
    return {};
  }

  Status Run() {
    try {
      for (int i = 0; i < std::max(core_->options.num_threads, 1); ++i) {
        threads_.emplace_back([core = core_] { core->context.run(); });
      }
    } catch (const std::system_error& error) {
      return MakeError(StatusCode::kResourceExhausted, address_, "threads to serve with",
                       error.what());
    }
    return {};
  }

  void Begin() override {
    for (const auto& listener : listeners_) listener->Begin();
  }

  std::string address() const override { return address_; }
  int port() const override { return port_; }

  HttpServerStats stats() const override {
    HttpServerStats stats;
    {
      const std::lock_guard lock(core_->mutex);
      stats.connections_open = static_cast<int64_t>(core_->connections.size());
    }
    stats.connections_total = core_->connections_total;
    stats.requests_total = core_->requests_total;
    stats.refused_total = core_->refused_total;
    stats.clients_gone_total = core_->clients_gone_total;
    stats.slow_readers_cut_total = core_->slow_readers_cut_total;
    return stats;
  }

  void Drain() override {
    {
      // Under the mutex: Connection::Start has registered what it takes, or takes nothing more.
      const std::lock_guard lock(core_->mutex);
      if (core_->draining->exchange(true)) return;
    }
    for (const auto& listener : listeners_) listener->Close();
    socket_file_.Remove();
    for (const auto& connection : Connections()) connection->Drain();
  }

  bool WaitDrained(Milliseconds limit) override {
    std::unique_lock lock(core_->mutex);
    return core_->fewer.wait_for(lock, limit, [this] { return core_->unfinished == 0; });
  }

 private:
  std::vector<std::shared_ptr<Connection>> Connections() const {
    const std::lock_guard lock(core_->mutex);
    std::vector<std::shared_ptr<Connection>> connections;
    for (const auto& [key, weak] : core_->connections) {
      if (auto connection = weak.lock()) connections.push_back(std::move(connection));
    }
    return connections;
  }

  const std::shared_ptr<ServerCore> core_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  SocketFile socket_file_;
  std::vector<std::thread> threads_;
  std::string address_;
  int port_ = 0;
  bool stopped_ = false;
};

}  // namespace

Expected<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                        Handler handler,
                                                        MakeErrorResponse make_error) {
  auto core = std::make_shared<ServerCore>(options, std::move(handler), std::move(make_error));
  auto server = std::make_unique<AsioServer>(std::move(core));
  VERBATIM_RETURN_IF_ERROR(server->Listen());
  VERBATIM_RETURN_IF_ERROR(server->Run());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace verbatim::serve
