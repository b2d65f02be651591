// Blocking sockets with a receive timeout.
#include "tests/serve/http/raw_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "serve/http/request_rules.h"

namespace verbatim::serve::testing {
namespace {

void SetTimeout(int fd) {
  timeval limit{};
  limit.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(kPatience).count();
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

}  // namespace

std::string RawResponse::Header(std::string_view name) const {
  std::string_view rest = head;
  while (!rest.empty()) {
    const size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 2);
    const size_t colon = line.find(": ");
    if (colon != line.npos && EqualsIgnoringCase(line.substr(0, colon), name)) {
      return std::string(line.substr(colon + 2));
    }
  }
  return "-";
}

RawClient RawClient::Tcp(int port, const char* host, int receive_buffer) {
  RawClient client;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(host, std::to_string(port).c_str(), &hints, &found) != 0) return client;
  client.fd_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0) {
    setsockopt(client.fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  SetTimeout(client.fd_);
  const int yes = 1;  // pieces leave as they are sent
  setsockopt(client.fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  if (connect(client.fd_, found->ai_addr, found->ai_addrlen) != 0) client.Close();
  freeaddrinfo(found);
  return client;
}

RawClient RawClient::Unix(const std::string& path) {
  RawClient client;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  client.fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SetTimeout(client.fd_);
  if (connect(client.fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    client.Close();
  }
  return client;
}

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}

RawClient& RawClient::operator=(RawClient&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;  // libFuzzer's clock
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void RawClient::EndSending() { shutdown(fd_, SHUT_WR); }

void RawClient::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void RawClient::Reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  Close();
}

bool RawClient::Fill() {
  std::array<char, 4096> part;
  ssize_t count = 0;
  do {
    count = recv(fd_, part.data(), part.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  buffer_.append(part.data(), static_cast<size_t>(count));
  return true;
}

RawResponse RawClient::Receive(bool head) {
  RawResponse response;
  const auto need = [this](size_t size) {
    while (buffer_.size() < size) {
      if (!Fill()) return false;
    }
    return true;
  };
  const auto find = [this](std::string_view end) {
    size_t at = 0;
    while ((at = buffer_.find(end)) == std::string::npos) {
      if (!Fill()) return std::string::npos;
    }
    return at + end.size();
  };
  const auto take = [this](size_t size) {
    std::string taken = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return taken;
  };
  const size_t head_size = find("\r\n\r\n");
  if (head_size == std::string::npos) return response;
  response.head = take(head_size);
  response.status = std::atoi(response.head.c_str() + std::strlen("HTTP/1.1 "));
  const std::string length = response.Header("content-length");
  if (head || response.status < 200 || response.status == 204 || response.status == 304) {
    response.whole = true;
  } else if (length != "-") {
    const auto size = static_cast<size_t>(std::atoll(length.c_str()));
    response.whole = need(size);
    response.body = take(std::min(size, buffer_.size()));
  } else if (response.Header("transfer-encoding") == "chunked") {
    while (true) {
      const size_t line = find("\r\n");
      if (line == std::string::npos) break;
      const auto size = static_cast<size_t>(std::strtoull(take(line).c_str(), nullptr, 16));
      if (!need(size + 2)) break;
      response.body += take(size);
      take(2);
      if (size == 0) {
        response.whole = true;
        break;
      }
    }
  } else {  // until the end
    while (Fill()) {
    }
    response.body = take(buffer_.size());
    response.whole = true;
  }
  return response;
}

std::optional<std::string> RawClient::ReceiveAll() {
  while (true) {
    errno = 0;
    if (Fill()) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    return std::exchange(buffer_, {});
  }
}

bool RawClient::Closed() {
  const auto rest = ReceiveAll();
  return rest.has_value() && rest->empty();
}

}  // namespace verbatim::serve::testing
