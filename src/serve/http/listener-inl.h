// Listener: binds an address and hands each accepted socket to a Connection. Included by
// http_server.cc alone, with Asio; not by others.
#ifndef VERBATIM_SERVE_HTTP_LISTENER_INL_H_
#define VERBATIM_SERVE_HTTP_LISTENER_INL_H_

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/connection-inl.h"
#include "verbatim/status.h"

namespace verbatim::serve {

using asio::ip::tcp;
using UnixProtocol = asio::local::stream_protocol;

// How long nothing is accepted after an error: the process is out of file descriptors, mostly.
constexpr Milliseconds kAcceptPause{100};

inline Status ListenFault(std::string_view where, const ErrorCode& error) {
  std::string_view advice;
  if (error == asio::error::address_in_use) {
    advice = "another one, or to stop the server that has it";
  } else if (error == asio::error::access_denied) {
    advice = "a port above 1023, or a path that you may write";
  } else if (error == boost::system::errc::address_not_available) {
    advice = "127.0.0.1, or 0.0.0.0 for every address of this machine";
  }
  return MakeError(StatusCode::kIo, where, "an address to listen on", error.message(), advice);
}

inline std::string PeerOf(const tcp::socket& socket) {
  ErrorCode error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return "unknown";  // gone already
  return fmt::format(fmt::runtime(endpoint.address().is_v6() ? "[{}]:{}" : "{}:{}"),
                     endpoint.address().to_string(), endpoint.port());
}

inline std::string PeerOf(const UnixProtocol::socket&) { return "unix"; }

inline void PrepareSocket(tcp::socket& socket, Milliseconds write_timeout) {
  ErrorCode ignored;
  ignored = socket.set_option(tcp::no_delay(true), ignored);  // tokens leave when they are made
  ignored = socket.set_option(asio::socket_base::keep_alive(true), ignored);
  // The kernel's buffer takes hours of tokens: only TCP itself knows that a client has vanished
  // without a word. Twice the limit, so that a write that waits is seen as a slow reader first.
  const auto limit = std::max<Milliseconds>(2 * write_timeout, Milliseconds{1000});
  const auto value = static_cast<unsigned>(limit.count());
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof(value));
}

inline void PrepareSocket(UnixProtocol::socket&, Milliseconds) {}

// Thread rule: Begin and Close from any thread.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void Begin() = 0;
  virtual void Close() = 0;
};

template <typename Protocol>
class ListenerOf final : public Listener,
                         public std::enable_shared_from_this<ListenerOf<Protocol>> {
 public:
  ListenerOf(std::shared_ptr<ServerCore> core, typename Protocol::acceptor acceptor)
      : core_(std::move(core)), acceptor_(std::move(acceptor)), pause_(acceptor_.get_executor()) {}

  void Begin() override {
    asio::post(acceptor_.get_executor(), [self = this->shared_from_this()] { self->Accept(); });
  }

  void Close() override {
    asio::post(acceptor_.get_executor(), [self = this->shared_from_this()] {
      ErrorCode ignored;
      ignored = self->acceptor_.close(ignored);
      self->pause_.cancel();
    });
  }

 private:
  void Accept() {
    if (!acceptor_.is_open()) return;
    const asio::any_io_executor strand = asio::make_strand(core_->context);
    acceptor_.async_accept(strand, [self = this->shared_from_this()](
                                       const ErrorCode& error, typename Protocol::socket socket) {
      self->OnAccept(error, std::move(socket));
    });
  }

  void OnAccept(const ErrorCode& error, typename Protocol::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([self = this->shared_from_this()](const ErrorCode&) { self->Accept(); });
      return;
    }
    PrepareSocket(socket, core_->options.write_timeout);
    std::string peer = PeerOf(socket);
    std::make_shared<Connection>(core_, Socket(std::move(socket)), std::move(peer))->Start();
    Accept();
  }

  const std::shared_ptr<ServerCore> core_;
  typename Protocol::acceptor acceptor_;
  asio::steady_timer pause_;
};

struct Listeners {
  std::vector<std::shared_ptr<Listener>> all;
  int port = 0;
};

// Every address of a name gets a listener, all on one port; addresses that this machine doesn't
// have are left out while there is another. Port 0: the first one's choice.
inline Expected<Listeners> ListenTcp(const std::shared_ptr<ServerCore>& core,
                                     const std::string& host, int port, std::string_view where) {
  ErrorCode error;
  tcp::resolver resolver(core->context);
  const auto found =
      resolver.resolve(host, std::to_string(port), tcp::resolver::numeric_service, error);
  if (error) return ListenFault(where, error);
  Listeners listeners;
  ErrorCode first_error;
  std::set<tcp::endpoint> seen;  // /etc/hosts may name one twice
  for (const auto& entry : found) {
    tcp::endpoint endpoint = entry.endpoint();
    if (!seen.insert(endpoint).second) continue;
    if (listeners.port != 0) endpoint.port(static_cast<uint16_t>(listeners.port));
    tcp::acceptor acceptor(asio::make_strand(core->context));
    error = acceptor.open(endpoint.protocol(), error);
    if (!error) error = acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) error = acceptor.bind(endpoint, error);
    if (!error) error = acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) {
      listeners.port = acceptor.local_endpoint(error).port();
      listeners.all.push_back(std::make_shared<ListenerOf<tcp>>(core, std::move(acceptor)));
    } else if (error == boost::system::errc::address_not_available ||
               error == asio::error::address_family_not_supported ||
               (port == 0 && !listeners.all.empty())) {  // the first one's choice is taken there
      if (!first_error) first_error = error;
    } else {
      return ListenFault(where, error);
    }
  }
  if (listeners.all.empty()) return ListenFault(where, first_error);
  return listeners;
}

// A socket file of ours: removed at the end, unless another server has put its own there.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path) : path_(std::move(path)) {
    struct stat status{};
    if (lstat(path_.c_str(), &status) != 0) path_.clear();
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  ~SocketFile() { Remove(); }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  SocketFile(SocketFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    return *this;
  }

  void Remove() {
    struct stat status{};
    const bool ours = !path_.empty() && lstat(path_.c_str(), &status) == 0 &&
                      status.st_dev == device_ && status.st_ino == inode_;
    if (ours) unlink(path_.c_str());
    path_.clear();
  }

 private:
  std::string path_;  // empty: nothing to remove
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Removes a socket file that nobody listens on. Errors: a live one, or a file of another kind.
inline Status ClearSocketPath(asio::io_context& context, const std::string& path,
                              std::string_view where) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return {};  // nothing there, or bind says what is wrong
  if (!S_ISSOCK(status.st_mode)) {
    return MakeError(StatusCode::kIo, where, "no file, or the socket of a server that has ended",
                     "a file of another kind", "another path");
  }
  UnixProtocol::socket probe(context);
  ErrorCode error;
  error = probe.connect(UnixProtocol::endpoint(path), error);
  if (!error) return ListenFault(where, asio::error::address_in_use);
  if (error != asio::error::connection_refused) return ListenFault(where, error);
  unlink(path.c_str());
  return {};
}

inline Expected<std::shared_ptr<Listener>> ListenUnix(const std::shared_ptr<ServerCore>& core,
                                                      const std::string& path,
                                                      std::string_view where, SocketFile& file) {
  constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;  // and a NUL
  if (path.size() > kMaxPath || path.find('\0') != path.npos) {
    return MakeError(StatusCode::kIo, where, fmt::format("a path of at most {} bytes", kMaxPath),
                     fmt::format("one of {}", path.size()), "a shorter one, e.g. in /tmp");
  }
  VERBATIM_RETURN_IF_ERROR(ClearSocketPath(core->context, path, where));
  ErrorCode error;
  UnixProtocol::acceptor acceptor(asio::make_strand(core->context));
  error = acceptor.open(UnixProtocol(), error);
  if (!error) error = acceptor.bind(UnixProtocol::endpoint(path), error);
  if (error) return ListenFault(where, error);
  file = SocketFile(path);
  // Before listen: until then nobody can connect, whatever the umask left open.
  if (chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) {
    return ListenFault(where, ErrorCode(errno, boost::system::system_category()));
  }
  error = acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return ListenFault(where, error);
  return std::shared_ptr<Listener>(
      std::make_shared<ListenerOf<UnixProtocol>>(core, std::move(acceptor)));
}

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_LISTENER_INL_H_
