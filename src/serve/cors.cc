// Headers, and an exchange that adds them.
#include "serve/cors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "serve/http/request_rules.h"

namespace verbatim::serve {
namespace {

// Far more than clients ask for: some twenty names of some twenty letters.
constexpr size_t kMaxRequestedHeaders = 4096;

// Access-Control-Request-Headers: names of headers with commas between them.
bool IsHeaderList(std::string_view text) {
  if (text.empty() || text.size() > kMaxRequestedHeaders) return false;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    if (!IsToken(name)) return false;
  }
  return true;
}

void AllowOrigin(const HttpRequest& request, std::vector<HttpHeader>& headers) {
  headers.push_back({"Access-Control-Allow-Origin", std::string(request.Header("origin"))});
}

class CorsExchange : public HttpExchange {
 public:
  explicit CorsExchange(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}

  const HttpRequest& request() const override { return exchange_->request(); }
  void Respond(int status, std::vector<HttpHeader> headers, std::string body) override {
    AddCorsHeaders(request(), headers);
    exchange_->Respond(status, std::move(headers), std::move(body));
  }
  void Start(int status, std::vector<HttpHeader> headers) override {
    AddCorsHeaders(request(), headers);
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

void AddCorsHeaders(const HttpRequest& request, std::vector<HttpHeader>& headers) {
  AllowOrigin(request, headers);
  headers.push_back({"Access-Control-Expose-Headers", "x-request-id, retry-after"});
  headers.push_back({"Vary", "Origin"});
}

void RespondToPreflight(HttpExchange& exchange) {
  const HttpRequest& request = exchange.request();
  std::vector<HttpHeader> headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                                     {"Access-Control-Max-Age", "600"},
                                     {"Vary", "Origin, Access-Control-Request-Headers"}};
  const std::string_view wanted = request.Header("access-control-request-headers");
  // What is no list is not allowed, and the browser says so to the page's author.
  if (IsHeaderList(wanted)) {
    headers.push_back({"Access-Control-Allow-Headers", std::string(wanted)});
  }
  AllowOrigin(request, headers);
  exchange.Respond(204, std::move(headers), "");
}

std::shared_ptr<HttpExchange> WithCors(std::shared_ptr<HttpExchange> exchange) {
  return std::make_shared<CorsExchange>(std::move(exchange));
}

}  // namespace verbatim::serve
