// Targets, escapes, ids and characters.
#include "serve/http/request_rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace verbatim::serve {
namespace {

TEST(RequestRules, PercentDecode) {
  EXPECT_EQ(PercentDecode("/a%2Fb%2f+%25"), "/a/b/+%");
  EXPECT_EQ(PercentDecode(""), "");
  for (const char* bad : {"%", "%1", "%g0", "%0g", "a%", "%%20", "% 20"}) {
    EXPECT_FALSE(PercentDecode(bad).has_value()) << bad;
  }
}

void ExpectTarget(std::string_view method, std::string_view text, std::string_view path,
                  std::string_view query) {
  const RequestTarget target = ParseTarget(method, text);
  EXPECT_EQ(target.error, "") << text;
  EXPECT_EQ(target.path, path) << text;
  EXPECT_EQ(target.query, query) << text;
}

TEST(RequestRules, TargetForms) {
  ExpectTarget("GET", "/", "/", "");
  ExpectTarget("GET", "/v1/models/org%2Fname", "/v1/models/org/name", "");
  ExpectTarget("GET", "/a?b?c=%zz", "/a", "b?c=%zz");  // the query stays as sent
  ExpectTarget("GET", "http://h", "/", "");
  ExpectTarget("GET", "HTTP://h:80?x", "/", "x");
  ExpectTarget("GET", "https://[::1]:80/a?b", "/a", "b");
  ExpectTarget("OPTIONS", "*", "*", "");
  ExpectTarget("GET", "/\xc3\xa9%C3%A9", "/éé", "");
  ExpectTarget("GET", "//a/../b", "//a/../b", "");  // nothing is resolved
}

TEST(RequestRules, BadTargets) {
  for (const char* target : {"",
                             "*",
                             "a",
                             "a/b",
                             "/%",
                             "/%00",
                             "/%0a",
                             "/%0d",
                             "/%7f",
                             "/%1b[",
                             "/#f",
                             "/%ff",
                             "/%c0%80",
                             "/%ed%a0%80",
                             "/?\xff",
                             "http://h?\xff",
                             "http://h?#",
                             "http://h#",
                             "http://h\\a",
                             "http://",
                             "http:///a",
                             "http://u@h/a",
                             "http:/a",
                             "ftp://h/a"}) {
    EXPECT_NE(ParseTarget("GET", target).error, "") << target;
  }
  EXPECT_NE(ParseTarget("CONNECT", "h:443").error, "");
}

TEST(RequestRules, RequestIds) {
  EXPECT_TRUE(IsHarmlessRequestId("aZ09._-"));
  EXPECT_TRUE(IsHarmlessRequestId(std::string(128, 'a')));
  EXPECT_FALSE(IsHarmlessRequestId(std::string(129, 'a')));
  for (const char* bad : {"", "a b", "a\r\nb", "a:b", "é", "a/b", "\"", "<"}) {
    EXPECT_FALSE(IsHarmlessRequestId(bad)) << bad;
  }
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const std::string id = NewRequestId();
    EXPECT_TRUE(IsHarmlessRequestId(id));
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 100U);
}

TEST(RequestRules, Utf8) {
  for (const char* good : {"", "a", "é", "€", "😀", "\x7f", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xe2\x82", "a\xe2\x82z"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(RequestRules, Characters) {
  EXPECT_TRUE(IsToken("x-Request_id"));
  EXPECT_FALSE(IsToken(""));
  EXPECT_FALSE(IsToken("a b"));
  EXPECT_FALSE(IsToken("a:"));
  EXPECT_TRUE(IsHeaderValue("a\tb \xe9"));
  EXPECT_FALSE(IsHeaderValue("a\nb"));
  EXPECT_FALSE(IsHeaderValue(std::string_view("\0", 1)));
  EXPECT_TRUE(EqualsIgnoringCase("Content-LENGTH", "content-length"));
  EXPECT_FALSE(EqualsIgnoringCase("a", "ab"));
  EXPECT_FALSE(EqualsIgnoringCase("[", "{"));
}

}  // namespace
}  // namespace verbatim::serve
