// What must hold for any bytes: requests don't depend on how the bytes are cut, nothing that a
// handler gets has a NUL or a second framing, and a server answers each client to its end.
#include "fuzz/http_entries.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/temporary_folder.h"
#include "serve/http/http_server.h"
#include "serve/http/request_parser.h"
#include "serve/http/request_rules.h"
#include "tests/serve/http/raw_client.h"

namespace verbatim::fuzz {
namespace {

using serve::HttpExchange;
using serve::HttpHeader;
using serve::HttpRequest;
using serve::RequestParser;

constexpr serve::RequestLimits kLimits = {.header_bytes = 1024, .body_bytes = 4096};

void CheckRequest(const HttpRequest& request) {
  VERBATIM_CHECK(serve::IsToken(request.method));
  VERBATIM_CHECK(request.path == "*" || request.path.starts_with('/'));
  VERBATIM_CHECK(serve::IsUtf8(request.path) && serve::IsUtf8(request.query));
  VERBATIM_CHECK(serve::IsHeaderValue(request.path) && serve::IsHeaderValue(request.query));
  VERBATIM_CHECK(request.body.size() <= kLimits.body_bytes);
  int framings = 0;
  for (const HttpHeader& header : request.headers) {
    VERBATIM_CHECK(serve::IsToken(header.name) && serve::IsHeaderValue(header.value));
    framings += serve::EqualsIgnoringCase(header.name, "content-length") ||
                        serve::EqualsIgnoringCase(header.name, "transfer-encoding")
                    ? 1
                    : 0;
  }
  VERBATIM_CHECK(framings <= 1);
  VERBATIM_CHECK(framings == 1 || request.body.empty());
}

// Everything that the requests of a connection say, one after the other.
std::vector<std::string> Requests(std::string_view bytes, size_t piece) {
  std::vector<std::string> requests;
  std::string waiting;
  RequestParser parser(kLimits);
  while (true) {
    const size_t used = parser.Feed(waiting);
    VERBATIM_CHECK(used <= waiting.size());
    waiting.erase(0, used);
    if (parser.state() == RequestParser::State::kRefused) {
      VERBATIM_CHECK(parser.refusal().status >= 400 && !parser.refusal().message.empty());
      return requests;
    }
    if (parser.state() == RequestParser::State::kDone) {
      const HttpRequest& request = parser.request();
      CheckRequest(request);
      std::string text = request.method + ' ' + request.path + '?' + request.query;
      for (const HttpHeader& header : request.headers) {
        text += '\n' + header.name + ':' + header.value;
      }
      requests.push_back(text + '\n' + request.body + (parser.keep_alive() ? "+" : "-"));
      parser = RequestParser(kLimits);
      continue;
    }
    VERBATIM_CHECK(waiting.size() <= kLimits.header_bytes);
    if (bytes.empty()) return requests;
    const std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    waiting += next;
  }
}

void Answer(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  CheckRequest(request);
  VERBATIM_CHECK(serve::IsHarmlessRequestId(request.request_id));
  if (request.body.size() % 2 == 0) {
    exchange->Respond(200, {{"X-Path", request.path}}, request.body);
  } else {
    exchange->Start(200, request.headers);  // as they came: a handler may do that
    exchange->Write(request.body);
    exchange->End();
  }
}

// Lives as long as the process; its folder goes with it.
struct Server {
  Server() : folder(*TemporaryFolder::CreateUnique("verbatim-fuzz-")) {
    auto started =
        serve::HttpServer::Start({.unix_socket = (folder.path() / "s").string(),
                                  .max_header_bytes = kLimits.header_bytes,
                                  .max_body_bytes = kLimits.body_bytes},
                                 Answer, [](const serve::HttpRequest&, int, std::string_view) {
                                   return serve::HttpServer::Error{.body = "{}"};
                                 });
    VERBATIM_CHECK(started.ok());
    server = *std::move(started);
    server->Begin();
  }
  TemporaryFolder folder;
  std::unique_ptr<serve::HttpServer> server;
};

}  // namespace

void FuzzHttpRequest(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const size_t piece = 1 + std::to_integer<size_t>(bytes[0]);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
  const auto whole = Requests(text, std::string_view::npos);
  VERBATIM_CHECK(Requests(text, piece) == whole);
  VERBATIM_CHECK(Requests(text, 1) == whole);
}

void FuzzHttpConnection(std::span<const std::byte> bytes) {
  static Server server;
  const std::string path = server.server->address().substr(std::string_view("unix:").size());
  auto client = serve::testing::RawClient::Unix(path);
  VERBATIM_CHECK(client.connected());
  client.Send({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  client.EndSending();
  const auto answers = client.ReceiveAll();
  VERBATIM_CHECK(answers.has_value());  // else the server never closed
  VERBATIM_CHECK(answers->empty() || answers->starts_with("HTTP/1.1 "));
  auto good = serve::testing::RawClient::Unix(path);
  VERBATIM_CHECK(good.Send("GET /good HTTP/1.1\r\nHost: h\r\n\r\n"));
  VERBATIM_CHECK(good.Receive().Header("x-path") == "/good");
}

}  // namespace verbatim::fuzz
