// One mutex, held for copying bytes only; callbacks run outside it.
#include "serve/http/response_channel.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace verbatim::serve {
namespace {

// RFC 9110 6.4.1: these have no body, and no length either.
bool HasNoBody(int status) { return status == 204 || status == 304; }

// Interim responses are the transport's; what lies outside breaks clients.
int FinalStatus(int status) { return status >= 200 && status <= 599 ? status : 500; }

}  // namespace

ResponseChannel::ResponseChannel(ResponseTraits traits, std::function<void()> wake)
    : traits_(std::move(traits)),
      wake_(std::move(wake)),
      keep_alive_(traits_.keep_alive),
      discard_body_(traits_.head) {}

void ResponseChannel::Wake() {
  if (wake_pending_) return;
  wake_pending_ = true;
  wake_();
}

void ResponseChannel::Begin(int status, const std::vector<HttpHeader>& headers, BodyFraming framing,
                            uint64_t length) {
  begun_ = true;
  status = FinalStatus(status);
  if (HasNoBody(status)) {
    discard_body_ = true;
    framing = BodyFraming::kNone;
  }
  framing_ = framing;
  keep_alive_ = keep_alive_ && framing != BodyFraming::kUntilClose &&
                !(traits_.draining && traits_.draining->load());
  queued_ += ResponseHead(status, headers,
                          {.framing = framing,
                           .content_length = length,
                           .http10 = traits_.http10,
                           .keep_alive = keep_alive_,
                           .request_id = traits_.request_id});
}

void ResponseChannel::Respond(int status, const std::vector<HttpHeader>& headers,
                              std::string_view body) {
  const std::lock_guard lock(mutex_);
  if (!wake_ || begun_ || ended_) return;
  Begin(status, headers, BodyFraming::kLength, body.size());
  if (!discard_body_) queued_ += body;
  ended_ = true;
  Wake();
}

void ResponseChannel::Start(int status, const std::vector<HttpHeader>& headers) {
  const std::lock_guard lock(mutex_);
  if (!wake_ || begun_ || ended_) return;
  Begin(status, headers, traits_.http10 ? BodyFraming::kUntilClose : BodyFraming::kChunked, 0);
  Wake();
}

bool ResponseChannel::Write(std::string_view part) {
  const std::lock_guard lock(mutex_);
  if (!wake_ || !begun_ || ended_ || overflow_) return false;
  if (discard_body_ || part.empty()) return true;  // an empty chunk would end the body
  const size_t waiting = queued_.size() + in_flight_;
  if (waiting > 0 && waiting + part.size() > traits_.max_buffer) {
    overflow_ = true;
    gone_ = true;
    queued_.clear();
    wake_();  // though one may be pending: the connection waits for a write that doesn't end
    return false;
  }
  if (framing_ == BodyFraming::kChunked) {
    fmt::format_to(std::back_inserter(queued_), "{:x}\r\n", part.size());
  }
  queued_ += part;
  if (framing_ == BodyFraming::kChunked) queued_ += "\r\n";
  Wake();
  return true;
}

void ResponseChannel::End() {
  const std::lock_guard lock(mutex_);
  if (!wake_ || !begun_ || ended_ || overflow_) return;
  ended_ = true;
  if (framing_ == BodyFraming::kChunked && !discard_body_) queued_ += "0\r\n\r\n";
  Wake();
}

void ResponseChannel::Abort() {
  const std::lock_guard lock(mutex_);
  if (!wake_ || ended_ || overflow_) return;
  ended_ = true;
  aborted_ = true;
  keep_alive_ = false;
  Wake();
}

void ResponseChannel::Drop() {
  bool begun = false;
  {
    const std::lock_guard lock(mutex_);
    if (!wake_ || ended_) return;
    begun = begun_;
  }
  // Nobody else has it: nothing happens in between.
  if (begun) return Abort();
  const HttpServer::Error error = traits_.dropped();
  Respond(500, error.headers, error.body);
}

void ResponseChannel::OnGone(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_ || wake_) {  // an overflow is reported by the connection's Close
      if (wake_ && !ended_) on_gone_ = std::move(callback);
      return;
    }
  }
  callback();
}

bool ResponseChannel::gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

ResponseChannel::Output ResponseChannel::Take() {
  const std::lock_guard lock(mutex_);
  wake_pending_ = false;
  Output output;
  output.bytes = std::exchange(queued_, {});
  output.ended = ended_;
  output.keep_alive = keep_alive_;
  output.reset = aborted_ && framing_ == BodyFraming::kUntilClose;
  in_flight_ = output.bytes.size();
  return output;
}

bool ResponseChannel::overflow() const {
  const std::lock_guard lock(mutex_);
  return overflow_;
}

bool ResponseChannel::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

bool ResponseChannel::Close() {
  std::function<void()> wake;
  std::function<void()> callback;
  bool gone = false;
  {
    const std::lock_guard lock(mutex_);
    if (!wake_) return false;
    wake = std::exchange(wake_, nullptr);  // released outside: it may own the connection
    gone = gone_ = !ended_;
    callback = std::exchange(on_gone_, nullptr);
  }
  if (gone && callback) {
    try {
      callback();
    } catch (...) {  // NOLINT(bugprone-empty-catch): nothing of this response is left to save
    }
  }
  return gone;
}

}  // namespace verbatim::serve
