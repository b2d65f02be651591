// Text only; what is framed how is decided in response_channel.cc.
#include "serve/http/response_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "serve/http/request_rules.h"

namespace verbatim::serve {
namespace {

std::string_view Reason(int status) {
  struct Entry {
    int status;
    std::string_view reason;
  };
  static constexpr std::array<Entry, 26> kReasons = {{
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {529, "Overloaded"},
  }};
  for (const Entry& entry : kReasons) {
    if (entry.status == status) return entry.reason;
  }
  return "";  // RFC 9112 4: may be empty
}

bool IsOurs(std::string_view name) {
  constexpr std::array<std::string_view, 7> kOurs = {
      "content-length", "transfer-encoding", "connection", "keep-alive", "date",
      "server",         "x-request-id"};
  return std::any_of(kOurs.begin(), kOurs.end(),
                     [&](std::string_view ours) { return EqualsIgnoringCase(name, ours); });
}

}  // namespace

std::string HttpDate(std::time_t time) {
  // Not strftime: its names follow the locale.
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays.at(parts.tm_wday),
                     parts.tm_mday, kMonths.at(parts.tm_mon), parts.tm_year + 1900, parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
}

std::string ResponseHead(int status, const std::vector<HttpHeader>& headers,
                         const ResponseFacts& facts) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, Reason(status));
  for (const HttpHeader& header : headers) {
    if (!IsToken(header.name) || IsOurs(header.name)) continue;
    std::string value = header.value;
    std::replace_if(
        value.begin(), value.end(), [](char c) { return !IsHeaderValue({&c, 1}); }, ' ');
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", header.name, value);
  }
  if (facts.framing == BodyFraming::kLength) {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", facts.content_length);
  } else if (facts.framing == BodyFraming::kChunked) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  if (!facts.keep_alive) {
    head += "Connection: close\r\n";
  } else if (facts.http10) {
    head += "Connection: keep-alive\r\n";
  }
  fmt::format_to(std::back_inserter(head),
                 "Date: {}\r\nServer: verbatim\r\nx-request-id: {}\r\n\r\n",
                 HttpDate(std::time(nullptr)), facts.request_id);
  return head;
}

}  // namespace verbatim::serve
