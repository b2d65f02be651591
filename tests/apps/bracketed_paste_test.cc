// What of a terminal's bytes is pasted, and what may enter a line of it.
#include "apps/verbatim/bracketed_paste.h"

#include <gtest/gtest.h>

#include <vector>

#include "apps/verbatim/wide_text.h"

namespace verbatim::cli {
namespace {

using Event = PasteParser::Event;

// Keys as they are, pastes between < and >, ! for one that was too large.
std::string Parse(PasteParser& parser, std::string_view bytes) {
  std::string seen;
  for (const char byte : bytes) {
    const Event event = parser.Push(byte);
    if (event == Event::kKeys) seen += parser.TakeKeys();
    if (event == Event::kPaste) seen.append("<").append(parser.TakePaste()).append(">");
    if (event == Event::kTooLarge) seen.append("!").append(parser.TakePaste());
  }
  return seen;
}

std::string Parse(std::string_view bytes) {
  PasteParser parser;
  return Parse(parser, bytes);
}

TEST(PasteParserTest, KeysPassAtOnce) {
  EXPECT_EQ(Parse("abc\r\x03"), "abc\r\x03");
  EXPECT_EQ(Parse("\x1b[A\x1b[3~\x1b[2~x"), "\x1b[A\x1b[3~\x1b[2~x");
  PasteParser parser;
  EXPECT_EQ(parser.Push('\x1b'), Event::kNone);  // may become a marker
  EXPECT_EQ(parser.Push('\x1b'), Event::kKeys);  // the first can't any more
  EXPECT_EQ(parser.TakeKeys(), "\x1b");
  EXPECT_EQ(parser.Push('b'), Event::kKeys);
  EXPECT_EQ(parser.TakeKeys(),
            "\x1b"
            "b");
}

TEST(PasteParserTest, TextBetweenMarkers) {
  EXPECT_EQ(Parse("a\x1b[200~one\n\x03\x1b[Atwo\x1b[201~b"), "a<one\n\x03\x1b[Atwo>b");
  EXPECT_EQ(Parse("\x1b[200~\x1b[201~"), "<>");
  EXPECT_EQ(Parse("\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~"), "<a><b>");
  // Half markers, markers one inside the other, and those out of place.
  EXPECT_EQ(Parse("\x1b[20\x1b[200~a\x1b[20\x1b[201\x1b[201~"), "\x1b[20<a\x1b[20\x1b[201>");
  EXPECT_EQ(Parse("\x1b[200~a\x1b[200~b\x1b[201~c\x1b[201~d"), "<a\x1b[200~b>cd");
  EXPECT_EQ(Parse("\x1b\x1b[200~a\x1b\x1b[201~"), "\x1b<a\x1b>");
}

TEST(PasteParserTest, AnOpenPasteIsNoKeys) {
  PasteParser parser;
  EXPECT_EQ(Parse(parser, "\x1b[200~one\rtwo\r"), "");
  EXPECT_TRUE(parser.in_paste());
}

TEST(PasteParserTest, Limit) {
  const std::string most(PasteParser::kMaxBytes, 'y');
  EXPECT_EQ(Parse("\x1b[200~" + most + "\x1b[201~a"), "<" + most + ">a");
  EXPECT_EQ(Parse("\x1b[200~" + most + "y\x1b[201~a"), "!a");
  EXPECT_EQ(Parse("\x1b[200~" + most + most + "\x1b[201~\x1b[200~b\x1b[201~"), "!<b>");
}

TEST(PasteParserTest, DiscardAndReset) {
  PasteParser parser;
  EXPECT_EQ(Parse(parser, "\x1b[200~one\r"), "");
  parser.Discard();
  EXPECT_EQ(Parse(parser, "two\r\x1b[20"), "");
  EXPECT_EQ(Parse(parser, "1~a\x1b[200~b\x1b[201~"), "a<b>");
  EXPECT_EQ(Parse(parser, "\x1b[20"), "");
  parser.Discard();  // outside: what was held
  EXPECT_EQ(Parse(parser, "0~"), "0~");
  EXPECT_EQ(Parse(parser, "\x1b[200~one\r"), "");
  parser.Reset();
  EXPECT_EQ(Parse(parser, "a\x1b[200~b\x1b[201~"), "a<b>");
}

TEST(WithoutKeysTest, LineBreaksAndTabsStay) {
  EXPECT_EQ(WithoutKeys(L"a\r\nb\rc\nd\n\re\tf\r"), L"a\nb\nc\nd\n\ne\tf\n");
}

TEST(WithoutKeysTest, NoOtherControlCharacterStays) {
  std::wstring all;
  for (wchar_t code = 0; code <= 0x100; ++code) all += code;
  const std::wstring left = WithoutKeys(all);
  EXPECT_TRUE(left.starts_with(L"\t\n\n !"));  // line feed, carriage return
  for (const wchar_t code : left) {
    EXPECT_FALSE(code != L'\t' && code != L'\n' && code < 0x20) << int{code};
    EXPECT_FALSE(code >= 0x7F && code < 0xA0) << int{code};
  }
  EXPECT_EQ(left.size(), 3 + (0x7F - 0x20) + (0x101 - 0xA0));
  // Bytes that form a control character only when another between them is dropped don't form it.
  EXPECT_EQ(ToUtf8(WithoutKeys(ToWide("\xC2\x01\x9B"))), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(WideTextTest, BackAndForth) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  EXPECT_EQ(ToWide(text), L"a\u00E9\u20AC\U0001F600");
  EXPECT_EQ(ToUtf8(ToWide(text)), text);
  EXPECT_EQ(ToWide("\xE2\x82"), L"\uFFFD");
}

}  // namespace
}  // namespace verbatim::cli
