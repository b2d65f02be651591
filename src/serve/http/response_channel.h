// ResponseChannel: the bytes of one response on their way from the handler's threads to the
// connection's. No sockets. Exchange: the handler's end of it.
#ifndef VERBATIM_SERVE_HTTP_RESPONSE_CHANNEL_H_
#define VERBATIM_SERVE_HTTP_RESPONSE_CHANNEL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/http/http_server.h"
#include "serve/http/response_head.h"

namespace verbatim::serve {

struct ResponseTraits {
  bool head = false;        // a HEAD request: no body is sent
  bool http10 = false;      // parts aren't chunked, the end is the connection's
  bool keep_alive = false;  // the client's wish
  std::string request_id = {};
  size_t max_buffer = 0;  // bytes of parts that wait
  // The server's: responses that begin after it became true close their connection.
  std::shared_ptr<const std::atomic<bool>> draining = {};
  // Makes the 500 for a handler that never answered.
  std::function<HttpServer::Error()> dropped = {};
};

// Thread rule: every method from any thread.
class ResponseChannel {
 public:
  // What the connection has to do next.
  struct Output {
    std::string bytes = {};   // write these, then take again
    bool ended = false;       // with no bytes: all of the response has been taken
    bool keep_alive = false;  // with ended: the connection can serve another request
    bool reset = false;       // with ended: only a reset tells the client that it isn't whole
  };

  // `wake`, called when there is something to take, must not call back. Released by Close.
  ResponseChannel(ResponseTraits traits, std::function<void()> wake);

  // The handler's end, see HttpExchange.
  void Respond(int status, const std::vector<HttpHeader>& headers, std::string_view body);
  void Start(int status, const std::vector<HttpHeader>& headers);
  bool Write(std::string_view part);
  void End();
  void Abort();
  // A handler that let go of it: 500 if it never began, a cut if it never ended.
  void Drop();
  void OnGone(std::function<void()> callback);
  bool gone() const;

  // The connection's end. Take: what was taken before has been written.
  Output Take();
  bool overflow() const;  // more than max_buffer waits: to be cut, also in the middle of a write
  bool ended() const;
  // No byte leaves any more. A response that hasn't ended is gone: true, and OnGone's callback ran.
  bool Close();

 private:
  void Begin(int status, const std::vector<HttpHeader>& headers, BodyFraming framing,
             uint64_t length);
  void Wake();

  const ResponseTraits traits_;
  mutable std::mutex mutex_;
  std::function<void()> wake_;  // empty: closed
  std::function<void()> on_gone_;
  std::string queued_;
  size_t in_flight_ = 0;  // bytes of the last Take
  bool wake_pending_ = false;
  bool begun_ = false;
  bool ended_ = false;
  bool aborted_ = false;
  bool overflow_ = false;
  bool gone_ = false;
  bool keep_alive_;
  bool discard_body_;
  BodyFraming framing_ = BodyFraming::kNone;
};

class Exchange final : public HttpExchange {
 public:
  Exchange(std::shared_ptr<ResponseChannel> channel, HttpRequest request)
      : channel_(std::move(channel)), request_(std::move(request)) {}
  ~Exchange() override { channel_->Drop(); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const override { return request_; }
  void Respond(int status, std::vector<HttpHeader> headers, std::string body) override {
    channel_->Respond(status, headers, body);
  }
  void Start(int status, std::vector<HttpHeader> headers) override {
    channel_->Start(status, headers);
  }
  bool Write(std::string part) override { return channel_->Write(part); }
  void End() override { channel_->End(); }
  void Abort() override { channel_->Abort(); }
  void OnGone(std::function<void()> callback) override { channel_->OnGone(std::move(callback)); }
  bool gone() const override { return channel_->gone(); }

 private:
  std::shared_ptr<ResponseChannel> channel_;
  HttpRequest request_;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_RESPONSE_CHANNEL_H_
