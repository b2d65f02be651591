// Connection: one client's socket, its requests one after the other, and every time limit. Included
// by http_server.cc alone, with Asio; not by others.
#ifndef VERBATIM_SERVE_HTTP_CONNECTION_INL_H_
#define VERBATIM_SERVE_HTTP_CONNECTION_INL_H_

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/http/http_server.h"
#include "serve/http/request_parser.h"
#include "serve/http/request_rules.h"
#include "serve/http/response_channel.h"
#include "serve/http/server_core-inl.h"

namespace verbatim::serve {

using ErrorCode = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using Milliseconds = std::chrono::milliseconds;

// One read; and how far a client may send ahead while its response is made. A client that has sent
// more is not watched until then: its going away shows when the response is written.
constexpr size_t kReadBytes = size_t{16} << 10;
// How long a connection that was closed here is still read, so that the client gets the response
// and not a reset: several round trips of any network.
constexpr Milliseconds kLingerTime{2'000};
// Connections beyond the maximum that get a 503 at the same time; further ones are just closed.
constexpr int kMaxTurnedAway = 64;

// Thread rule: Start, Drain and Cut from any thread; all else on the socket's strand. Alive while
// an operation is pending or a response is open; Close ends both.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<ServerCore> core, Socket socket, std::string peer)
      : core_(std::move(core)),
        socket_(std::move(socket)),
        executor_(socket_.get_executor()),
        read_timer_(executor_),
        write_timer_(executor_),
        peer_(std::move(peer)) {}

  // Registers and begins to read, or is closed if the server doesn't take it.
  void Start();
  // Closes now if no request is under way, else after the response.
  void Drain() {
    asio::post(executor_, [self = shared_from_this()] { self->DrainNow(); });
  }
  void Cut() {
    asio::post(executor_, [self = shared_from_this()] { self->Close(Reason::kServer); });
  }

 private:
  enum class Phase { kRequest, kResponse, kLinger, kClosed };
  enum class Reason { kDone, kLost, kSlow, kServer };

  void NextRequest(bool first);
  void DrainNow();
  void Read();
  void OnRead(const ErrorCode& error, size_t count);
  void OnReadTimeout();
  void Parse();
  void CountBody();
  void UncountBody();
  void Dispatch();
  void Refuse(int status, std::string_view message, std::vector<HttpHeader> headers = {});
  void OpenChannel(bool keep_alive);

  void Pump();
  void WriteSome();
  void Finish(const ResponseChannel::Output& output);
  void Linger();
  void Close(Reason reason, bool reset = false);

  void ArmRead(Milliseconds limit);
  void ArmWrite();
  void Settle();  // nothing is left to write

  const std::shared_ptr<ServerCore> core_;
  Socket socket_;
  const asio::any_io_executor executor_;
  asio::steady_timer read_timer_;
  asio::steady_timer write_timer_;
  const std::string peer_;

  Phase phase_ = Phase::kRequest;
  bool turned_away_ = false;
  bool unfinished_ = true;
  bool reading_ = false;  // a read is pending, into input_
  bool writing_ = false;  // a write is pending, from output_
  bool eof_ = false;
  bool idle_ = false;         // between requests
  bool got_bytes_ = false;    // of this request
  bool body_begun_ = false;   // of this request
  size_t counted_bytes_ = 0;  // of core_->body_bytes
  std::array<char, kReadBytes> input_;
  std::string received_;  // and not taken by the parser
  std::string output_;
  size_t written_ = 0;  // of output_
  std::optional<RequestParser> parser_;
  std::shared_ptr<ResponseChannel> channel_;
};

inline void Connection::Start() {
  {
    const std::lock_guard lock(core_->mutex);
    if (core_->stopping || core_->draining->load()) return;
    const int others = static_cast<int>(core_->connections.size()) - core_->turned_away;
    turned_away_ = others >= core_->options.max_connections;
    if (turned_away_ && core_->turned_away >= kMaxTurnedAway) {
      ++core_->refused_total;
      return;
    }
    core_->turned_away += turned_away_ ? 1 : 0;
    core_->connections.emplace(this, weak_from_this());
    ++core_->unfinished;
    ++core_->connections_total;
  }
  asio::dispatch(executor_, [self = shared_from_this()] {
    if (!self->turned_away_) return self->NextRequest(true);
    self->Refuse(503, "expected fewer connections, received one more than the server takes",
                 {{"Retry-After", "1"}});
  });
}

inline void Connection::DrainNow() {
  if (phase_ != Phase::kRequest || got_bytes_) return;
  ErrorCode error;
  if (socket_.available(error) > 0 && !error) return;  // a request has come, unread
  Close(Reason::kDone);
}

inline void Connection::NextRequest(bool first) {
  phase_ = Phase::kRequest;
  parser_.emplace(RequestLimits{.header_bytes = core_->options.max_header_bytes,
                                .body_bytes = core_->options.max_body_bytes});
  got_bytes_ = !received_.empty();
  idle_ = !first && !got_bytes_;
  body_begun_ = false;
  ArmRead(idle_ ? core_->options.idle_timeout : core_->options.header_timeout);
  if (got_bytes_) return Parse();
  if (eof_) return Close(Reason::kDone);
  Read();
}

inline void Connection::Read() {
  if (reading_ || eof_) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(input_),
                          [self = shared_from_this()](const ErrorCode& error, size_t count) {
                            self->OnRead(error, count);
                          });
}

inline void Connection::OnRead(const ErrorCode& error, size_t count) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error && error != asio::error::eof) return Close(Reason::kLost);
  eof_ = error == asio::error::eof;
  switch (phase_) {
    case Phase::kRequest:
      if (eof_) {
        // Maybe only the client's sending side is closed: it can still read why.
        if (got_bytes_) return Refuse(400, "expected a whole request, received a part of it");
        return Close(Reason::kDone);
      }
      if (idle_) ArmRead(core_->options.header_timeout);
      idle_ = false;
      got_bytes_ = true;
      received_.append(input_.data(), count);
      return Parse();
    case Phase::kResponse:
      // Who closes its sending side while it waits has gone: a close looks the same from here.
      if (eof_ && !channel_->ended()) return Close(Reason::kLost);
      received_.append(input_.data(), count);
      if (received_.size() < kReadBytes) Read();
      return;
    case Phase::kLinger:
      if (eof_) return Close(Reason::kDone);
      return Read();
    case Phase::kClosed:
      return;
  }
}

inline void Connection::OnReadTimeout() {
  if (phase_ != Phase::kRequest || !got_bytes_) return Close(Reason::kDone);
  Refuse(408, body_begun_ ? "expected a request's body in time, received a part of it"
                          : "expected a request's header in time, received a part of it");
}

inline void Connection::Parse() {
  received_.erase(0, parser_->Feed(received_));
  CountBody();
  switch (parser_->state()) {
    case RequestParser::State::kRefused:
      return Refuse(parser_->refusal().status, parser_->refusal().message,
                    parser_->refusal().headers);
    case RequestParser::State::kDone:
      return Dispatch();
    case RequestParser::State::kBody:
      if (core_->body_bytes.load() > core_->options.max_total_body_bytes) {
        return Refuse(503, "expected fewer large requests at a time, received one more",
                      {{"Retry-After", "1"}});
      }
      if (!body_begun_) {
        body_begun_ = true;
        ArmRead(core_->options.body_timeout);
        if (parser_->expects_continue() && received_.empty() && parser_->request().body.empty()) {
          output_ = "HTTP/1.1 100 Continue\r\n\r\n";
          written_ = 0;
          WriteSome();
        }
      }
      break;
    case RequestParser::State::kHeader:
      break;
  }
  if (eof_) return Refuse(400, "expected a whole request, received a part of it");
  Read();
}

inline void Connection::CountBody() {
  const size_t bytes = parser_->request().body.size();
  core_->body_bytes += bytes - counted_bytes_;
  counted_bytes_ = bytes;
}

inline void Connection::UncountBody() {
  core_->body_bytes -= counted_bytes_;
  counted_bytes_ = 0;
}

inline void Connection::OpenChannel(bool keep_alive) {
  phase_ = Phase::kResponse;
  read_timer_.cancel();
  HttpRequest& request = parser_->request();
  const std::string_view sent = request.Header("x-request-id");
  request.request_id = IsHarmlessRequestId(sent) ? std::string(sent) : NewRequestId();
  request.peer = peer_;
  channel_ = std::make_shared<ResponseChannel>(
      ResponseTraits{.head = request.method == "HEAD",
                     .http10 = parser_->http10(),
                     .keep_alive = keep_alive,
                     .request_id = request.request_id,
                     .max_buffer = core_->options.max_write_buffer,
                     .draining = core_->draining,
                     .dropped = DroppedError(core_, request)},
      [self = shared_from_this()] { asio::post(self->executor_, [self] { self->Pump(); }); });
}

inline void Connection::Dispatch() {
  UncountBody();  // the handler's from here on
  ++core_->requests_total;
  OpenChannel(parser_->keep_alive());
  const std::shared_ptr<ResponseChannel> channel = channel_;
  auto exchange = std::make_shared<Exchange>(channel, std::move(parser_->request()));
  parser_.reset();
  try {
    core_->handler(std::move(exchange));
  } catch (...) {
    channel->Drop();  // even if the handler has kept it
  }
  if (eof_ && !channel->ended()) return Close(Reason::kLost);
  if (received_.size() < kReadBytes) Read();  // the watch: a client that goes away
}

inline void Connection::Refuse(int status, std::string_view message,
                               std::vector<HttpHeader> headers) {
  UncountBody();
  ++core_->refused_total;
  if (!parser_) parser_.emplace(RequestLimits{});
  OpenChannel(false);
  HttpServer::Error error = core_->ErrorFor(parser_->request(), status, message);
  headers.insert(headers.end(), error.headers.begin(), error.headers.end());
  channel_->Respond(status, headers, error.body);
  parser_.reset();
  if (received_.size() < kReadBytes) Read();
}

inline void Connection::Pump() {
  if (phase_ != Phase::kResponse) return;
  if (channel_->overflow()) return Close(Reason::kSlow, true);
  if (writing_) return;
  ResponseChannel::Output output = channel_->Take();
  if (!output.bytes.empty()) {
    output_ = std::move(output.bytes);
    written_ = 0;
    return WriteSome();
  }
  output_ = {};
  if (output.ended) Finish(output);
}

inline void Connection::WriteSome() {
  writing_ = true;
  ArmWrite();
  socket_.async_write_some(asio::buffer(output_.data() + written_, output_.size() - written_),
                           [self = shared_from_this()](const ErrorCode& error, size_t count) {
                             self->writing_ = false;
                             if (self->phase_ == Phase::kClosed) return;
                             if (error) return self->Close(Reason::kLost);
                             self->written_ += count;
                             if (self->written_ < self->output_.size()) return self->WriteSome();
                             self->write_timer_.cancel();
                             self->Pump();
                           });
}

inline void Connection::Finish(const ResponseChannel::Output& output) {
  channel_->Close();
  channel_.reset();
  if (output.reset) return Close(Reason::kDone, true);
  if (!output.keep_alive || core_->draining->load()) return Linger();
  NextRequest(false);
}

inline void Connection::Linger() {
  phase_ = Phase::kLinger;
  Settle();
  received_ = {};
  ErrorCode ignored;
  ignored = socket_.shutdown(Socket::shutdown_send, ignored);
  if (eof_) return Close(Reason::kDone);
  ArmRead(kLingerTime);
  Read();
}

inline void Connection::Settle() {
  if (!std::exchange(unfinished_, false)) return;
  const std::lock_guard lock(core_->mutex);
  --core_->unfinished;
  core_->fewer.notify_all();
}

inline void Connection::Close(Reason reason, bool reset) {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  read_timer_.cancel();
  write_timer_.cancel();
  UncountBody();
  ErrorCode ignored;
  // A reset drops what the kernel still holds for a client that takes nothing.
  if (reset) ignored = socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  ignored = socket_.close(ignored);
  if (reason == Reason::kSlow) ++core_->slow_readers_cut_total;
  const std::shared_ptr<ResponseChannel> channel = std::exchange(channel_, nullptr);
  if (channel && channel->Close() && reason == Reason::kLost) ++core_->clients_gone_total;
  Settle();
  const std::lock_guard lock(core_->mutex);
  core_->connections.erase(this);
  core_->turned_away -= turned_away_ ? 1 : 0;
}

inline void Connection::ArmRead(Milliseconds limit) {
  read_timer_.expires_after(limit);
  read_timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    // Armed anew after the wait had ended: not this one's time.
    if (error || self->read_timer_.expiry() > asio::steady_timer::clock_type::now()) return;
    if (self->phase_ == Phase::kRequest || self->phase_ == Phase::kLinger) self->OnReadTimeout();
  });
}

inline void Connection::ArmWrite() {
  write_timer_.expires_after(core_->options.write_timeout);
  write_timer_.async_wait([self = shared_from_this()](const ErrorCode& error) {
    if (error || self->write_timer_.expiry() > asio::steady_timer::clock_type::now()) return;
    if (self->writing_) self->Close(Reason::kSlow, true);
  });
}

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_CONNECTION_INL_H_
