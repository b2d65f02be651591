// The byte alphabet, byte tokens and the decoders that are refused. Not whole texts.
#include "text/token_bytes.h"

#include <set>

#include "tests/text/text_test_support.h"

namespace verbatim {
namespace {

// The alphabet written down a second time, in the form of its description: printable Latin-1 stands
// for itself, the rest follow from U+0100 in order.
std::string Spell(int byte) {
  int code_point = byte;
  const auto printable = [](int b) {
    return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
  };
  if (!printable(byte)) {
    code_point = 0x100;
    for (int b = 0; b < byte; ++b) code_point += !printable(b);
  }
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

TEST(TokenBytesTest, AlphabetIsUndoneForEveryByte) {
  std::set<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    std::string bytes;
    ASSERT_TRUE(UndoByteAlphabet(Spell(byte), bytes)) << byte;
    EXPECT_EQ(bytes, std::string(1, static_cast<char>(byte)));
    spellings.insert(Spell(byte));
  }
  EXPECT_EQ(spellings.size(), 256u);
  std::string bytes;
  ASSERT_TRUE(UndoByteAlphabet("\xC4\xA0the\xC4\x8A", bytes));  // the well-known "Ġ" and "Ċ"
  EXPECT_EQ(bytes, " the\n");
}

TEST(TokenBytesTest, OtherCharactersAreLiteralText) {
  const auto rule = TokenByteRule::FromDecoderJson(R"({"type": "ByteLevel"})");
  ASSERT_TRUE(rule.ok());
  for (const char* token : {"a b", "\n", "\xE4\xBD\xA0", "\xC2\xAD", "\xC5\x84", "\xC4", "x\xC4"}) {
    EXPECT_EQ(rule->Bytes(token), token);
  }
}

TEST(TokenBytesTest, ByteTokensAndSpaceMarks) {
  const auto rule = TokenByteRule::FromDecoderJson(
      R"({"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"}]})");
  ASSERT_TRUE(rule.ok()) << rule.status().message();
  EXPECT_EQ(rule->Bytes("\xE2\x96\x81the\xE2\x96\x81\xE2\x96\x81"), " the  ");
  EXPECT_EQ(rule->Bytes("<0x0A>"), "\n");
  EXPECT_EQ(rule->Bytes("<0xfF>"), "\xFF");
  EXPECT_EQ(rule->Bytes("<0x00>"), std::string(1, '\0'));
  for (const char* token : {"<0x>", "<0x0>", "<0x0G>", "<0x-1>", "<0x000>", "0x0A", "<0x0A"}) {
    EXPECT_EQ(rule->Bytes(token), token);
  }
}

TEST(TokenBytesTest, NoDecoderMeansPlainTokens) {
  const auto rule = TokenByteRule::FromDecoderJson("null");
  ASSERT_TRUE(rule.ok());
  EXPECT_EQ(rule->Bytes("<0x0A>"), "<0x0A>");
}

TEST(TokenBytesTest, UnknownDecodersAreRefused) {
  for (
      const char* json :
      {R"({"type": "WordPiece"})", R"({"type": "Metaspace"})", R"({})", R"({"type": "Sequence"})",
       R"({"type": "Sequence", "decoders": [{"type": "Strip"}]})",
       R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"Regex": "a"}, "content": ""}]})",
       R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": ""}, "content": "b"}]})",
       R"({"type": "Sequence", "decoders": [{"type": "ByteFallback"},
            {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}]})"}) {
    EXPECT_EQ(TokenByteRule::FromDecoderJson(json).status().code(), StatusCode::kUnsupported)
        << json;
  }
  for (const char* json : {"", "[]", "3", "{"}) {
    EXPECT_EQ(TokenByteRule::FromDecoderJson(json).status().code(), StatusCode::kCorrupt) << json;
  }
}

}  // namespace
}  // namespace verbatim
