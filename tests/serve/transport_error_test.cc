// Forms by path, types by status.
#include "serve/transport_error.h"

#include <gtest/gtest.h>

namespace verbatim::serve {
namespace {

TEST(TransportError, AnthropicsFormIsForMessagesAndBelow) {
  for (const char* path : {"/v1/messages", "/v1/messages/", "/v1/messages/count_tokens"}) {
    EXPECT_EQ(ErrorFormOf(path), Api::kMessages) << path;
  }
  for (const char* path : {"", "/", "/v1/messagesx", "/v1/models", "/v1/chat/completions"}) {
    EXPECT_EQ(ErrorFormOf(path), Api::kChatCompletions) << path;
  }
}

TEST(TransportError, TypesFollowTheStatus) {
  for (const int status : {400, 413, 414, 415, 417, 431}) {
    EXPECT_EQ(TransportError(status, "m").type, "invalid_request_error") << status;
  }
  EXPECT_EQ(TransportError(408, "m").type, "timeout_error");
  EXPECT_EQ(TransportError(500, "m").type, "server_error");
  EXPECT_EQ(TransportError(503, "m").type, "overloaded_error");
  EXPECT_EQ(TransportError(503, "m").code, "overloaded");
  EXPECT_EQ(TransportError(413, "m").status, 413);
  EXPECT_EQ(TransportError(413, "m").message, "m");
}

}  // namespace
}  // namespace verbatim::serve
