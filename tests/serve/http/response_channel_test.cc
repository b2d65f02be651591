// Responses as bytes, without sockets: framing, limits, the order of ends, and that no header can
// say more than one.
#include "serve/http/response_channel.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace verbatim::serve {
namespace {

class ResponseChannelTest : public ::testing::Test {
 protected:
  ResponseChannel& Make(ResponseTraits traits = {.keep_alive = true, .max_buffer = 1000}) {
    traits.request_id = "id";
    traits.dropped = [] { return HttpServer::Error{.body = "{}"}; };
    channel_ = std::make_shared<ResponseChannel>(traits, [this] { ++wakes_; });
    return *channel_;
  }
  // Head and body of what has come so far.
  void TakeAll() {
    output_ = channel_->Take();
    const size_t end = output_.bytes.find("\r\n\r\n");
    head_ = output_.bytes.substr(0, end == std::string::npos ? 0 : end + 2);
    body_ = end == std::string::npos ? output_.bytes : output_.bytes.substr(end + 4);
  }
  bool HeadHas(const std::string& line) const {
    return head_.find("\r\n" + line + "\r\n") != std::string::npos;
  }

  std::shared_ptr<ResponseChannel> channel_;
  ResponseChannel::Output output_;
  std::string head_;
  std::string body_;
  int wakes_ = 0;
};

TEST_F(ResponseChannelTest, RespondIsHeadAndBody) {
  Make().Respond(200, {{"Content-Type", "text/plain"}}, "hello");
  channel_->Respond(500, {}, "again");
  EXPECT_FALSE(channel_->Write("more"));
  EXPECT_EQ(wakes_, 1);
  TakeAll();
  EXPECT_EQ(head_.substr(0, 17), "HTTP/1.1 200 OK\r\n");
  EXPECT_TRUE(HeadHas("Content-Type: text/plain"));
  EXPECT_TRUE(HeadHas("Content-Length: 5"));
  EXPECT_TRUE(HeadHas("x-request-id: id"));
  EXPECT_TRUE(HeadHas("Server: verbatim"));
  EXPECT_NE(head_.find("\r\nDate: "), std::string::npos);
  EXPECT_EQ(head_.find("Connection:"), std::string::npos);
  EXPECT_EQ(body_, "hello");
  EXPECT_TRUE(output_.ended);
  EXPECT_TRUE(output_.keep_alive);
  EXPECT_FALSE(channel_->Close());
  EXPECT_FALSE(channel_->gone());
}

TEST_F(ResponseChannelTest, PartsAreChunksAndWhatWaitsIsOneWrite) {
  Make().Start(200, {});
  EXPECT_TRUE(channel_->Write("one"));
  EXPECT_TRUE(channel_->Write(""));
  EXPECT_TRUE(channel_->Write(std::string(17, 'x')));
  channel_->End();
  channel_->End();
  EXPECT_EQ(wakes_, 1);
  TakeAll();
  EXPECT_TRUE(HeadHas("Transfer-Encoding: chunked"));
  EXPECT_EQ(body_, "3\r\none\r\n11\r\n" + std::string(17, 'x') + "\r\n0\r\n\r\n");
  TakeAll();
  EXPECT_TRUE(output_.bytes.empty() && output_.ended && output_.keep_alive);
}

TEST_F(ResponseChannelTest, WithoutBody) {
  Make({.head = true, .keep_alive = true}).Respond(200, {}, "hello");
  TakeAll();
  EXPECT_TRUE(HeadHas("Content-Length: 5"));
  EXPECT_EQ(body_, "");
  Make({.head = true, .keep_alive = true}).Start(200, {});
  EXPECT_TRUE(channel_->Write("hello"));
  channel_->End();
  TakeAll();
  EXPECT_TRUE(HeadHas("Transfer-Encoding: chunked"));
  EXPECT_EQ(body_, "");
  for (const int status : {204, 304}) {
    Make().Respond(status, {}, "hello");
    TakeAll();
    EXPECT_EQ(head_.find("Content-Length"), std::string::npos);
    EXPECT_EQ(body_, "");
    EXPECT_TRUE(output_.keep_alive);
  }
}

TEST_F(ResponseChannelTest, PartsInHttp10EndWithTheConnection) {
  Make({.http10 = true, .keep_alive = true, .max_buffer = 1000}).Start(200, {});
  EXPECT_TRUE(channel_->Write("one"));
  channel_->End();
  TakeAll();
  EXPECT_TRUE(HeadHas("Connection: close"));
  EXPECT_EQ(body_, "one");
  EXPECT_FALSE(output_.keep_alive);
  EXPECT_FALSE(output_.reset);
  Make({.http10 = true, .keep_alive = true}).Respond(200, {}, "one");
  TakeAll();
  EXPECT_TRUE(HeadHas("Connection: keep-alive"));
  EXPECT_TRUE(output_.keep_alive);
}

TEST_F(ResponseChannelTest, AbortLeavesTheBodyWithoutAnEnd) {
  Make().Start(200, {});
  channel_->Write("one");
  channel_->Abort();
  EXPECT_FALSE(channel_->Write("two"));
  channel_->End();
  TakeAll();
  EXPECT_EQ(body_, "3\r\none\r\n");
  EXPECT_TRUE(output_.ended && !output_.keep_alive && !output_.reset);
  EXPECT_FALSE(channel_->Close());  // not the client's doing
  Make({.http10 = true, .max_buffer = 1000}).Start(200, {});
  channel_->Abort();
  EXPECT_TRUE(channel_->Take().reset);  // a plain close would look like the end
}

TEST_F(ResponseChannelTest, DropAnswersOrAborts) {
  Make().Drop();
  TakeAll();
  EXPECT_EQ(head_.substr(0, 12), "HTTP/1.1 500");
  EXPECT_EQ(body_, "{}");
  EXPECT_TRUE(output_.keep_alive);
  Make().Start(200, {});
  channel_->Drop();
  TakeAll();
  EXPECT_EQ(body_, "");
  EXPECT_TRUE(output_.ended && !output_.keep_alive);
  Make().Respond(200, {}, "hello");
  channel_->Drop();
  TakeAll();
  EXPECT_EQ(body_, "hello");
}

TEST_F(ResponseChannelTest, MoreThanTheBufferHoldsIsCut) {
  Make({.keep_alive = true, .max_buffer = 1000}).Start(200, {});
  int gone = 0;
  channel_->OnGone([&] { ++gone; });
  channel_->Take();
  EXPECT_TRUE(channel_->Write(std::string(600, 'x')));
  channel_->Take();  // being written: still counts
  EXPECT_TRUE(channel_->Write("y"));
  const int before = wakes_;
  EXPECT_FALSE(channel_->Write(std::string(600, 'x')));
  EXPECT_GT(wakes_, before);  // nobody takes in the middle of a write
  EXPECT_TRUE(channel_->gone());
  EXPECT_FALSE(channel_->Write("y"));
  channel_->End();
  EXPECT_TRUE(channel_->overflow());
  EXPECT_EQ(gone, 0);  // from the connection's thread, not from within Write
  EXPECT_TRUE(channel_->Close());
  EXPECT_EQ(gone, 1);
  // Written in time: no limit on the whole. One part alone may be larger.
  Make({.keep_alive = true, .max_buffer = 1000}).Start(200, {});
  for (int i = 0; i < 10; ++i) {
    channel_->Take();
    channel_->Take();
    EXPECT_TRUE(channel_->Write(std::string(2000, 'x')));
  }
}

TEST_F(ResponseChannelTest, GoneIsCalledOnceAndOnlyBeforeTheEnd) {
  int calls = 0;
  Make().OnGone([&] { ++calls; });
  EXPECT_TRUE(channel_->Close());
  EXPECT_FALSE(channel_->Close());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(channel_->gone());
  channel_->OnGone([&] { ++calls; });  // too late: at once
  EXPECT_EQ(calls, 2);
  channel_->Start(200, {});
  EXPECT_FALSE(channel_->Write("x"));
  channel_->Respond(200, {}, "x");
  channel_->Drop();
  EXPECT_EQ(wakes_, 0);
  Make().OnGone([&] { ++calls; });
  channel_->Respond(200, {}, "x");
  channel_->Close();
  channel_->OnGone([&] { ++calls; });
  EXPECT_EQ(calls, 2);
  Make().OnGone([] { throw std::runtime_error("a handler's fault"); });
  EXPECT_TRUE(channel_->Close());
}

TEST_F(ResponseChannelTest, DrainingClosesAfterTheResponse) {
  const auto draining = std::make_shared<std::atomic<bool>>(true);
  Make({.keep_alive = true, .draining = draining}).Respond(200, {}, "x");
  TakeAll();
  EXPECT_TRUE(HeadHas("Connection: close"));
  EXPECT_FALSE(output_.keep_alive);
}

TEST_F(ResponseChannelTest, NoHeaderCanSayMoreThanOne) {
  Make().Respond(200,
                 {{"X-A", "1\r\nX-Evil: 2\r\n\r\n<body>"},
                  {"X-B: 1\r\nX-Evil", "3"},
                  {"", "4"},
                  {"X-C", std::string("n\0l", 3)},
                  {"Content-Length", "99"},
                  {"transfer-encoding", "chunked"},
                  {"Connection", "upgrade"},
                  {"X-Request-ID", "other"},
                  {"Set-Cookie", "a"},
                  {"Set-Cookie", "b"}},
                 "hello");
  TakeAll();
  EXPECT_TRUE(HeadHas("X-A: 1  X-Evil: 2    <body>"));
  EXPECT_TRUE(HeadHas("X-C: n l"));
  EXPECT_TRUE(HeadHas("Content-Length: 5"));
  EXPECT_TRUE(HeadHas("Set-Cookie: a") && HeadHas("Set-Cookie: b"));
  EXPECT_EQ(body_, "hello");
  for (const char* absent : {"\r\nX-Evil", "X-B", "99", "chunked", "upgrade", "other", "\r\n: "}) {
    EXPECT_EQ(head_.find(absent), std::string::npos) << absent;
  }
}

TEST_F(ResponseChannelTest, AStatusOutsideOfFinalOnesIs500) {
  for (const int status : {0, 100, 101, 199, 600, -1}) {
    Make().Respond(status, {}, "");
    TakeAll();
    EXPECT_EQ(head_.substr(0, 12), "HTTP/1.1 500") << status;
  }
}

TEST(HttpDate, OfRfc9110) {
  EXPECT_EQ(HttpDate(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(HttpDate(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

}  // namespace
}  // namespace verbatim::serve
