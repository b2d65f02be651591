// Headers, and an exchange that adds them.
#include "serve/cors.h"

#include <algorithm>
#include <utility>

namespace verbatim::serve {
namespace {

void AddOrigin(const HttpRequest& request, std::vector<HttpHeader>& headers) {
  headers.push_back({"Access-Control-Allow-Origin", std::string(request.Header("origin"))});
  headers.push_back({"Vary", "Origin"});
}

class CorsExchange : public HttpExchange {
 public:
  explicit CorsExchange(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}

  const HttpRequest& request() const override { return exchange_->request(); }
  void Respond(int status, std::vector<HttpHeader> headers, std::string body) override {
    AddOrigin(request(), headers);
    exchange_->Respond(status, std::move(headers), std::move(body));
  }
  void Start(int status, std::vector<HttpHeader> headers) override {
    AddOrigin(request(), headers);
    exchange_->Start(status, std::move(headers));
  }
  bool Write(std::string part) override { return exchange_->Write(std::move(part)); }
  void End() override { exchange_->End(); }
  void Abort() override { exchange_->Abort(); }
  void OnGone(std::function<void()> callback) override { exchange_->OnGone(std::move(callback)); }
  bool gone() const override { return exchange_->gone(); }

 private:
  std::shared_ptr<HttpExchange> exchange_;
};

}  // namespace

bool AllowsOrigin(const std::vector<std::string>& allowed, const HttpRequest& request) {
  const std::string_view origin = request.Header("origin");
  return !origin.empty() && std::ranges::any_of(allowed, [origin](const std::string& one) {
    return one == "*" || one == origin;
  });
}

void RespondToPreflight(HttpExchange& exchange) {
  std::vector<HttpHeader> headers = {
      {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
      {"Access-Control-Allow-Headers",
       "Authorization, Content-Type, X-Api-Key, X-Request-Id, Anthropic-Version"},
      {"Access-Control-Max-Age", "600"}};
  AddOrigin(exchange.request(), headers);
  exchange.Respond(204, std::move(headers), "");
}

std::shared_ptr<HttpExchange> WithCors(std::shared_ptr<HttpExchange> exchange) {
  return std::make_shared<CorsExchange>(std::move(exchange));
}

}  // namespace verbatim::serve
