// Which names are this machine's, and which only look like it.
#include "serve/http/local_host.h"

#include <gtest/gtest.h>

namespace verbatim::serve {
namespace {

TEST(LocalHost, Loopback) {
  for (const char* host : {"localhost", "LocalHost", "localhost.", "a.localhost", "a.b.LOCALHOST",
                           "127.0.0.1", "127.1.2.3", "127.255.255.255", "::1", "[::1]"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"",
                           ".",
                           "localhost.example",
                           "notlocalhost",
                           ".localhost",
                           "localhost..",
                           "127.0.0.1.example",
                           "127.example",
                           "127.0.0",
                           "127.0.0.1.1",
                           "127.0.0.256",
                           "127.0.0.1000",
                           "127.0.0.",
                           "127.0.0.x",
                           "128.0.0.1",
                           "0.0.0.0",
                           "10.127.0.1",
                           "[::2]",
                           "::",
                           "[::1",
                           "[::1].example"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

TEST(LocalHost, NamesWithoutTheirPorts) {
  EXPECT_EQ(HostName("a.example:80"), "a.example");
  EXPECT_EQ(HostName("a.example:"), "a.example");
  EXPECT_EQ(HostName("a.example"), "a.example");
  EXPECT_EQ(HostName("[::1]:8080"), "[::1]");
  EXPECT_EQ(HostName("[::1]"), "[::1]");
  EXPECT_EQ(HostName("localhost:evil"), "localhost:evil");
}

TEST(LocalHost, HeadersThatNameThisMachine) {
  for (const char* header : {"", "localhost", "localhost:8080", "127.0.0.1:1", "127.9.9.9", "[::1]",
                             "[::1]:8080", "api.localhost:3000", "box", "Box:8080"}) {
    EXPECT_TRUE(IsLocalHostHeader(header, "box")) << header;
  }
  for (const char* header : {"evil.example", "evil.example:8080", "localhost.evil.example",
                             "127.0.0.1.evil.example:8080", "localhost:80:80", "[::1]evil.example",
                             "::1", "[::2]:8080", "192.168.1.1", "box.example", ":8080"}) {
    EXPECT_FALSE(IsLocalHostHeader(header, "box")) << header;
  }
}

}  // namespace
}  // namespace verbatim::serve
