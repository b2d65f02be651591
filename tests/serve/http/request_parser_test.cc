// Bytes to requests: grammar, framing that must be refused, limits, and every way to cut the bytes.
#include "serve/http/request_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace verbatim::serve {
namespace {

using State = RequestParser::State;
constexpr RequestLimits kLimits = {.header_bytes = 512, .body_bytes = 64};

struct Parsed {
  State state = State::kHeader;
  Refusal refusal;
  HttpRequest request;
  bool keep_alive = false;
  size_t used = 0;
};

// Feeds pieces of `piece` bytes, as a connection does: what was not taken comes again.
Parsed Parse(std::string_view bytes, size_t piece = std::string_view::npos) {
  RequestParser parser(kLimits);
  Parsed parsed;
  std::string waiting;
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view next = bytes.substr(at, piece);
    at += next.size();
    waiting += next;
    const size_t used = parser.Feed(waiting);
    EXPECT_LE(used, waiting.size());
    parsed.used += used;
    waiting.erase(0, used);
    if (parser.state() == State::kDone || parser.state() == State::kRefused) break;
    EXPECT_LE(waiting.size(), kLimits.header_bytes);
  }
  parsed.state = parser.state();
  parsed.refusal = parser.refusal();
  if (parsed.state == State::kDone) {
    parsed.request = parser.request();
    parsed.keep_alive = parser.keep_alive();
  }
  return parsed;
}

// The status with which these bytes are refused, the same however they are cut; 0: not refused.
int Refused(std::string_view bytes) {
  const Parsed parsed = Parse(bytes);
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}}) {
    EXPECT_EQ(Parse(bytes, piece).refusal.status, parsed.refusal.status) << piece << ": " << bytes;
  }
  EXPECT_EQ(parsed.state == State::kRefused, parsed.refusal.status != 0);
  EXPECT_EQ(parsed.refusal.message.empty(), parsed.refusal.status == 0);
  return parsed.refusal.status;
}

std::string WithHeaders(std::string_view headers, std::string_view rest = "") {
  return "POST /x HTTP/1.1\r\nHost: h\r\n" + std::string(headers) + "\r\n" + std::string(rest);
}

TEST(RequestParser, FieldsOfARequest) {
  const Parsed parsed = Parse(
      "POST /a%20b?q=%20 HTTP/1.1\r\nHost: h:80\r\nX-Two:  with  blanks \t\r\nContent-Length: 5\r\n"
      "\r\nhello");
  ASSERT_EQ(parsed.state, State::kDone) << parsed.refusal.message;
  EXPECT_EQ(parsed.request.method, "POST");
  EXPECT_EQ(parsed.request.path, "/a b");
  EXPECT_EQ(parsed.request.query, "q=%20");
  EXPECT_EQ(parsed.request.body, "hello");
  EXPECT_EQ(parsed.request.Header("x-two"), "with  blanks");
  EXPECT_EQ(parsed.request.Header("HOST"), "h:80");
  EXPECT_EQ(parsed.request.Header("absent"), "");
  EXPECT_TRUE(parsed.keep_alive);
}

TEST(RequestParser, KeepAliveIsAsTheVersionAndTheClientSay) {
  EXPECT_TRUE(Parse("GET / HTTP/1.1\r\nHost: h\r\n\r\n").keep_alive);
  EXPECT_FALSE(Parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: foo, Close\r\n\r\n").keep_alive);
  EXPECT_FALSE(Parse("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(Parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
}

TEST(RequestParser, ChunksAreJoinedAndTrailersDropped) {
  const std::string bytes = WithHeaders(
      "Transfer-Encoding: Chunked\r\nX-Key: real\r\n",
      "3\r\nabc\r\n00A;ext=\"1\"\r\n0123456789\r\n0\r\nX-Key: false\r\nX-More: 1\r\n\r\n");
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Parsed parsed = Parse(bytes + "GET", piece);
    ASSERT_EQ(parsed.state, State::kDone) << piece << parsed.refusal.message;
    EXPECT_EQ(parsed.request.body, "abc0123456789");
    EXPECT_EQ(parsed.request.headers.size(), 3U);
    EXPECT_EQ(parsed.request.Header("x-key"), "real");
    EXPECT_EQ(parsed.used, bytes.size());
  }
}

TEST(RequestParser, AnyPrefixOfARequestWaitsForMore) {
  const std::vector<std::string> requests = {
      "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", WithHeaders("Content-Length: 3\r\n", "abc"),
      WithHeaders("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"),
      WithHeaders("Transfer-Encoding: chunked\r\n", "0\r\nA: b\r\n\r\n")};
  for (const std::string& bytes : requests) {
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      for (const size_t piece : {size_t{1}, bytes.size()}) {
        const Parsed parsed = Parse(bytes.substr(0, cut), piece);
        EXPECT_TRUE(parsed.state == State::kHeader || parsed.state == State::kBody) << cut;
      }
    }
    EXPECT_EQ(Parse(bytes).state, State::kDone);
  }
}

TEST(RequestParser, WhatFollowsBelongsToTheNextRequest) {
  const std::string one = WithHeaders("Content-Length: 2\r\n", "ab");
  EXPECT_EQ(Parse(one + one).used, one.size());
  EXPECT_EQ(Parse(one + one, 1).used, one.size());
}

TEST(RequestParser, EmptyLinesBeforeARequestAreIgnored) {
  EXPECT_EQ(Refused("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 0);
  EXPECT_EQ(Refused("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  std::string many;
  for (int i = 0; i < 300; ++i) many += "\r\n";  // 600 bytes: they count
  EXPECT_EQ(Refused(many), 431);
}

TEST(RequestParser, FramingThatServersReadDifferentlyIsRefused) {
  const std::vector<std::string> headers = {
      "Content-Length: 3\r\nContent-Length: 3\r\n",
      "Content-Length: 3\r\nContent-Length: 4\r\n",
      "Content-Length: 3, 3\r\n",
      "Content-Length: +3\r\n",
      "Content-Length: -3\r\n",
      "Content-Length: 0x3\r\n",
      "Content-Length: 3 3\r\n",
      "Content-Length:\r\n",
      "Content-Length: 99999999999999999999\r\n",
      "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked, chunked\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: chunked, gzip\r\n",
      "Transfer-Encoding: gzip\r\n",
      "Transfer-Encoding: identity\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "Transfer-Encoding: \"chunked\"\r\n",
      "Transfer-Encoding:\r\n",
      "Transfer-Encoding : chunked\r\n",
      "Content-Length : 3\r\n",
      " Content-Length: 3\r\n",
      "Host: other\r\n",
  };
  for (const std::string& header : headers) {
    EXPECT_EQ(Refused(WithHeaders(header, "abc")), 400) << header;
  }
  EXPECT_EQ(Refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST(RequestParser, BadChunksAreRefused) {
  for (const std::string rest :
       {"x\r\nabc\r\n0\r\n\r\n", "\r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n",
        "0x3\r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n",
        "3\r\nab\r\n0\r\n\r\n.....", "3\nabc\r\n0\r\n\r\n", "3 x\r\nabc\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\nbad trailer\r\n\r\n"}) {
    EXPECT_EQ(Refused(WithHeaders("Transfer-Encoding: chunked\r\n", rest)), 400) << rest;
  }
}

TEST(RequestParser, MalformedRequestsAreRefused) {
  const std::string nul(1, '\0');
  for (const std::string& bytes : std::vector<std::string>{
           "GET\r\n\r\n",
           "GET /\r\n\r\n",
           "GET / HTTP/2.0\r\n\r\n",
           "GET / HTTP/0.9\r\n\r\n",
           "GET / HTTP/1.2\r\nHost: h\r\n\r\n",
           "GET / http/1.1\r\nHost: h\r\n\r\n",
           "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET / HTTP/1.1 \r\nHost: h\r\n\r\n",
           "GET / HTTP/1.1\nHost: h\n\n\r\n\r\n",
           "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET x HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET /% HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET /" + nul + " HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nA: b" + nul + "\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nA: b\x7f\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nA b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n",
           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello", 23),
       }) {
    EXPECT_EQ(Refused(bytes), 400) << bytes;
  }
  EXPECT_EQ(Refused(WithHeaders("Expect: a-miracle\r\n")), 417);
  EXPECT_EQ(Refused("GET / HTTP/1.0\r\n\r\n"), 0);  // Host came with 1.1
}

TEST(RequestParser, BodiesAreNotDecompressed) {
  for (const char* coding : {"gzip", "br", "zstd", "deflate", "identity, gzip", "x"}) {
    const std::string header = std::string("content-encoding: ") + coding + "\r\n";
    EXPECT_EQ(Refused(WithHeaders(header + "Content-Length: 3\r\n", "abc")), 415) << coding;
    EXPECT_EQ(Refused(WithHeaders(header + "Transfer-Encoding: chunked\r\n", "0\r\n\r\n")), 415);
    EXPECT_EQ(Refused(WithHeaders(header)), 0) << "there is no body";
  }
  const Parsed parsed =
      Parse(WithHeaders("Content-Encoding: gzip\r\nContent-Length: 3\r\n", "abc"));
  ASSERT_EQ(parsed.refusal.headers.size(), 1U);
  EXPECT_EQ(parsed.refusal.headers[0].name, "Accept-Encoding");
  EXPECT_EQ(parsed.refusal.headers[0].value, "identity");
  for (const char* coding : {"identity", "Identity", ""}) {
    const std::string header = std::string("Content-Encoding: ") + coding + "\r\n";
    EXPECT_EQ(Refused(WithHeaders(header + "Content-Length: 3\r\n", "abc")), 0) << coding;
  }
}

TEST(RequestParser, LimitsAreExact) {
  const std::string start = "GET / HTTP/1.1\r\nHost: h\r\nA: ";
  const std::string end = "\r\n\r\n";
  const auto header = [&](size_t size) {
    return start + std::string(size - start.size() - end.size(), 'x') + end;
  };
  EXPECT_EQ(Refused(header(512)), 0);
  EXPECT_EQ(Refused(header(513)), 431);
  EXPECT_EQ(Refused(start + std::string(600, 'x')), 431);    // a header without an end
  EXPECT_EQ(Refused("GET /" + std::string(600, 'x')), 414);  // a target without an end
  EXPECT_EQ(Refused("GET /" + std::string(600, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n"), 414);
  EXPECT_EQ(Refused("\r\n\r\nGET /" + std::string(600, 'x')), 414);
  EXPECT_EQ(Refused("\1ET /" + std::string(600, 'x')), 400);  // no method
  EXPECT_EQ(Refused(std::string(600, 'G')), 431);             // a method without an end
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 150; ++i) many += "a: b\r\n";
  EXPECT_EQ(Refused(many + "\r\n"), 431);
  EXPECT_EQ(Refused(WithHeaders("Content-Length: 64\r\n", std::string(64, 'x'))), 0);
  EXPECT_EQ(Refused(WithHeaders("Content-Length: 65\r\n")), 413);  // before a byte of it came
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string forty = "28\r\n" + std::string(40, 'x') + "\r\n";
  EXPECT_EQ(
      Refused(WithHeaders(chunked, forty + "18\r\n" + std::string(24, 'x') + "\r\n0\r\n\r\n")), 0);
  EXPECT_EQ(
      Refused(WithHeaders(chunked, forty + "19\r\n" + std::string(25, 'x') + "\r\n0\r\n\r\n")),
      413);
  EXPECT_EQ(Refused(WithHeaders(chunked, "1;" + std::string(600, 'x'))), 431);
  EXPECT_EQ(Refused(WithHeaders(chunked, "0\r\nA: " + std::string(600, 'x'))), 431);
}

TEST(RequestParser, ExpectContinue) {
  RequestParser parser(kLimits);
  parser.Feed(WithHeaders("Content-Length: 3\r\nExpect: 100-Continue\r\n"));
  EXPECT_EQ(parser.state(), State::kBody);
  EXPECT_TRUE(parser.expects_continue());
  RequestParser old(kLimits);
  old.Feed("POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(old.state(), State::kBody);
  EXPECT_FALSE(old.expects_continue());
}

}  // namespace
}  // namespace verbatim::serve
