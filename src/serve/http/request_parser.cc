// Boost.Beast's parser with this server's rules on top; one of the two files that include Boost.
#include "serve/http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>
#include <utility>

#include "serve/http/request_rules.h"

namespace verbatim::serve {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// What is left of a chunked body at the start of a chunk: at least "0\r\n\r\n". With fewer bytes
// there is nothing to decide, and Beast 1.81 asserts that they are there.
constexpr size_t kShortestChunkedRest = 5;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

class RequestParser::Impl final : private http::basic_parser<true> {
 public:
  explicit Impl(const RequestLimits& limits) : limits_(limits) {
    header_limit(static_cast<uint32_t>(
        std::min<size_t>(limits.header_bytes, std::numeric_limits<uint32_t>::max())));
    body_limit(limits.body_bytes);
  }

  size_t Feed(std::string_view bytes) {
    size_t used = 0;
    // RFC 9112 2.2: empty lines before a request line are ignored.
    while (!got_some() && bytes.substr(used).starts_with("\r\n")) used += 2;
    header_bytes_ += used;
    CheckHeader({});
    if (!got_some() && bytes.substr(used) == "\r") return used;  // maybe one more
    while (state_ == State::kHeader || state_ == State::kBody) {
      const std::string_view rest = bytes.substr(used);
      if (rest.empty()) break;
      if (AtChunk() && rest.size() < kShortestChunkedRest) break;
      const bool in_header = state_ == State::kHeader;
      const bool at_chunk = AtChunk();
      beast::error_code error;
      const size_t taken = put(boost::asio::buffer(rest.data(), rest.size()), error);
      used += taken;
      const bool need_more = error == http::error::need_more;
      if (in_header) {
        header_bytes_ += taken;
        CheckHeader(need_more ? rest.substr(taken) : std::string_view());
      } else if (at_chunk && (need_more ? rest.size() : taken) > limits_.header_bytes) {
        Refuse(431, "a chunk's header", limits_.header_bytes);
      }
      if (state_ == State::kRefused || need_more) break;
      if (error) {
        RefuseFor(error, rest.substr(taken));
      } else if (is_done()) {
        state_ = State::kDone;
      } else if (is_header_done()) {
        state_ = State::kBody;
      }
    }
    return used;
  }

  State state() const { return state_; }
  const Refusal& refusal() const { return refusal_; }
  HttpRequest& request() { return request_; }
  bool http10() const { return http10_; }
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }

 private:
  bool AtChunk() const { return state_ == State::kBody && chunked() && chunk_left_ == 0; }

  void Refuse(int status, std::string message) {
    if (state_ == State::kRefused) return;  // the first reason stands
    state_ = State::kRefused;
    refusal_ = {status, std::move(message)};
  }

  void Refuse(int status, std::string_view what, size_t limit) {
    Refuse(status, fmt::format("expected {} of at most {} bytes, received more", what, limit));
  }

  void CheckHeader(std::string_view not_taken) {
    if (header_bytes_ + not_taken.size() > limits_.header_bytes) RefuseHeader(not_taken);
  }

  // RFC 9112 3: a target that is too long (a method, a blank, and no end) is told from headers that
  // are.
  void RefuseHeader(std::string_view not_taken) {
    // What fits, and no byte behind it: the same however the bytes came in pieces.
    const std::string_view line =
        not_taken.substr(0, limits_.header_bytes - std::min(header_bytes_, limits_.header_bytes));
    const size_t blank = line.find(' ');
    const bool in_target = request_.method.empty() && blank != line.npos &&
                           IsToken(line.substr(0, blank)) && line.find('\n') == line.npos;
    if (in_target) return Refuse(414, "a request's target", limits_.header_bytes);
    Refuse(431, "a request's header", limits_.header_bytes);
  }

  void RefuseFor(const beast::error_code& error, std::string_view not_taken) {
    if (error == http::error::header_limit) {
      RefuseHeader(not_taken);
    } else if (error == http::error::body_limit) {
      Refuse(413, "a body", limits_.body_bytes);
    } else if (error == http::error::bad_version) {
      Refuse(400, "expected HTTP/1.1 or HTTP/1.0, received another version");
    } else {
      Refuse(400, fmt::format("expected an HTTP request, received a malformed one ({})",
                              error.message()));
    }
  }

  // A rule of ours: what Beast reports then doesn't matter, it stops.
  void Break(beast::error_code& error, std::string message) {
    Refuse(400, std::move(message));
    error = http::error::bad_value;
  }

  void on_request_impl(http::verb, beast::string_view method, beast::string_view target,
                       int version, beast::error_code& error) override {
    http10_ = version == 10;
    request_.method = View(method);
    RequestTarget parsed = ParseTarget(request_.method, View(target));
    if (!parsed.error.empty()) return Break(error, std::move(parsed.error));
    request_.path = std::move(parsed.path);
    request_.query = std::move(parsed.query);
  }

  void on_response_impl(int, beast::string_view, int, beast::error_code& error) override {
    error = http::error::bad_method;  // not called for requests
  }

  void on_field_impl(http::field field, beast::string_view name, beast::string_view value,
                     beast::error_code& error) override {
    if (state_ != State::kHeader) return;  // a trailer
    if (!IsHeaderValue(View(value))) {
      return Break(error, "expected headers without control characters, received one with them");
    }
    if (field == http::field::host) {
      if (++hosts_ > 1) return Break(error, "expected one Host header, received two");
      if (!IsHost(View(value)))
        return Break(error,
                     "expected a Host header of name and port, "
                     "received another");
    } else if (field == http::field::content_length) {
      // Beast takes lists ("5, 5") and equal duplicates; a proxy in front may read them otherwise.
      if (++lengths_ > 1) return Break(error, "expected one Content-Length, received two");
      if (value.empty() || View(value).find_first_not_of("0123456789") != std::string::npos) {
        return Break(error, "expected a Content-Length of digits, received another");
      }
    } else if (field == http::field::transfer_encoding) {
      // Beast ignores what it doesn't know, and then reads no body.
      if (++encodings_ > 1) return Break(error, "expected one Transfer-Encoding, received two");
      if (http10_) return Break(error, "expected no Transfer-Encoding in HTTP/1.0, received one");
      if (!EqualsIgnoringCase(View(value), "chunked")) {
        return Break(error, "expected Transfer-Encoding: chunked, received another");
      }
    } else if (field == http::field::expect) {
      if (!EqualsIgnoringCase(View(value), "100-continue")) {
        Refuse(417, "expected Expect: 100-continue, received another");
        error = http::error::bad_value;
        return;
      }
      expects_continue_ = !http10_;  // RFC 9110 10.1.1: 1.0 doesn't know it
    } else if (field == http::field::content_encoding) {
      encoded_ = encoded_ || (!value.empty() && !EqualsIgnoringCase(View(value), "identity"));
    }
    request_.headers.push_back({std::string(View(name)), std::string(View(value))});
  }

  void on_header_impl(beast::error_code& error) override {
    if (!http10_ && hosts_ == 0) return Break(error, "expected a Host header, received none");
    const bool has_body = chunked() || content_length().value_or(0) > 0;
    if (encoded_ && has_body) {
      Refuse(415, "expected a body without Content-Encoding, received a compressed one");
      // RFC 9110 15.5.16: tells that from a Content-Type of the wrong kind.
      refusal_.headers.push_back({"Accept-Encoding", "identity"});
      error = http::error::bad_value;
      return;
    }
    keep_alive_ = http::basic_parser<true>::keep_alive();
  }

  void on_body_init_impl(const boost::optional<uint64_t>&, beast::error_code&) override {
    // Reserves nothing: a claim of a length is no reason to have the memory.
  }

  size_t on_body_impl(beast::string_view body, beast::error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }

  void on_chunk_header_impl(uint64_t size, beast::string_view, beast::error_code&) override {
    chunk_left_ = size;
  }

  size_t on_chunk_body_impl(uint64_t remain, beast::string_view body, beast::error_code&) override {
    request_.body.append(body.data(), body.size());
    chunk_left_ = remain - body.size();
    return body.size();
  }

  void on_finish_impl(beast::error_code&) override {}

  RequestLimits limits_;
  State state_ = State::kHeader;
  Refusal refusal_;
  HttpRequest request_;
  size_t header_bytes_ = 0;  // taken so far
  uint64_t chunk_left_ = 0;
  int hosts_ = 0;
  int lengths_ = 0;
  int encodings_ = 0;
  bool encoded_ = false;  // a Content-Encoding that is one
  bool http10_ = false;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
};

RequestParser::RequestParser(const RequestLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

size_t RequestParser::Feed(std::string_view bytes) { return impl_->Feed(bytes); }
RequestParser::State RequestParser::state() const { return impl_->state(); }
const Refusal& RequestParser::refusal() const { return impl_->refusal(); }
HttpRequest& RequestParser::request() { return impl_->request(); }
bool RequestParser::http10() const { return impl_->http10(); }
bool RequestParser::keep_alive() const { return impl_->keep_alive(); }
bool RequestParser::expects_continue() const { return impl_->expects_continue(); }

}  // namespace verbatim::serve
