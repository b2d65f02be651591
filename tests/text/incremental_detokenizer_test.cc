// Incremental text equals the text of the whole, for any cutting and any bytes. Not the rules by
// which a token becomes bytes (token_bytes_test.cc).
#include "text/incremental_detokenizer.h"

#include "tests/text/text_test_support.h"
#include "text/utf8.h"

namespace verbatim {
namespace {

using text_test::LoadTokenizer;
using text_test::Random;

// A second reading of "one U+FFFD for each maximal subpart", over a whole string: at each position
// take the longest prefix of a well-formed character.
std::string NaiveText(std::string_view bytes) {
  const auto at = [&](size_t i) { return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0; };
  const auto in = [](int x, int low, int high) { return x >= low && x <= high; };
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    const int first = at(i);
    int length = 1;  // of the character that `first` begins; 0: begins none
    if (first >= 0x80) {
      length = in(first, 0xC2, 0xDF)   ? 2
               : in(first, 0xE0, 0xEF) ? 3
               : in(first, 0xF0, 0xF4) ? 4
                                       : 0;
    }
    int good = 1;  // bytes of it that are right
    while (good < length) {
      const int next = at(i + good);
      int low = 0x80, high = 0xBF;
      if (good == 1 && first == 0xE0) low = 0xA0;
      if (good == 1 && first == 0xED) high = 0x9F;
      if (good == 1 && first == 0xF0) low = 0x90;
      if (good == 1 && first == 0xF4) high = 0x8F;
      if (!in(next, low, high)) break;
      ++good;
    }
    out += good == length ? std::string(bytes.substr(i, good)) : "\xEF\xBF\xBD";
    i += good;
  }
  return out;
}

bool IsUtf8(std::string_view text) { return NaiveText(text) == text; }

TEST(Utf8StreamTest, AnyBytesInAnyPieces) {
  // Bytes at the borders of table 3-7's ranges, so that every branch is met often.
  constexpr uint8_t kEdges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED,
                                0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
  Random random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    for (size_t n = random.Below(12); n > 0; --n) {
      bytes.push_back(static_cast<char>(kEdges[random.Below(std::size(kEdges))]));
    }
    const std::string expected = NaiveText(bytes);
    Utf8Stream stream;
    std::string text;
    for (size_t i = 0; i < bytes.size();) {
      const size_t n = 1 + random.Below(4);
      stream.Append(std::string_view(bytes).substr(i, n), text);
      ASSERT_TRUE(IsUtf8(text));
      ASSERT_TRUE(expected.starts_with(text));
      ASSERT_LE(stream.pending(), 3);
      i += n;
    }
    stream.Finish(text);
    ASSERT_EQ(text, expected);
    ASSERT_EQ(stream.pending(), 0);
  }
}

TEST(Utf8StreamTest, HoldsExactlyTheIncompleteCharacter) {
  Utf8Stream stream;
  std::string text;
  stream.Append("a\xF0\x9F\x98", text);
  EXPECT_EQ(text, "a");
  stream.Append("\x80z", text);
  EXPECT_EQ(text, "a\xF0\x9F\x98\x80z");
  stream.Append("\xE2\x82\x41\xFF\xC3", text);  // a cut character, a letter, a wrong byte, a start
  EXPECT_EQ(text, "a\xF0\x9F\x98\x80z\xEF\xBF\xBD\x41\xEF\xBF\xBD");
}

void CheckAllCuttings(const std::shared_ptr<const Tokenizer>& tokenizer,
                      const std::vector<int32_t>& ids, Random& random) {
  for (const bool skip : {false, true}) {
    const std::string whole = *tokenizer->Decode(ids, skip);
    std::string bytes;
    for (const int32_t id : ids) {
      if (!(skip && tokenizer->IsSpecial(id))) bytes += *tokenizer->TokenBytes(id);
    }
    ASSERT_EQ(whole, NaiveText(bytes));
    IncrementalDetokenizer detokenizer(tokenizer, skip);
    for (int cutting = 0; cutting < 3; ++cutting) {  // one by one, as blocks, all at once
      std::string text;
      for (size_t i = 0; i < ids.size();) {
        const size_t n = std::min(ids.size() - i, cutting == 0   ? 1
                                                  : cutting == 1 ? 1 + random.Below(5)
                                                                 : ids.size());
        const auto piece = detokenizer.Append(std::span(ids).subspan(i, n));
        ASSERT_TRUE(piece.ok());
        ASSERT_TRUE(IsUtf8(*piece)) << "half a character";
        text += *piece;
        ASSERT_TRUE(whole.starts_with(text)) << "emitted text changed";
        i += n;
      }
      text += detokenizer.Finish();
      ASSERT_EQ(text, whole);
    }
  }
}

TEST(IncrementalDetokenizerTest, RandomIds) {
  Random random(2);
  for (const auto& folder : {text_test::NanoFolder(), text_test::TinyFolder()}) {
    const auto tokenizer = LoadTokenizer(folder);
    ASSERT_NE(tokenizer, nullptr);
    for (int round = 0; round < 400; ++round) {
      const auto size = static_cast<size_t>(tokenizer->vocab_size());
      std::vector<int32_t> ids(random.Below(24));
      for (auto& id : ids) {
        // Single bytes (the first 256 ids), added tokens (the last 9) and all others.
        const size_t kind = random.Below(4);
        id = static_cast<int32_t>(kind < 2    ? random.Below(256)
                                  : kind == 2 ? size - 1 - random.Below(9)
                                              : random.Below(size));
      }
      CheckAllCuttings(tokenizer, ids, random);
    }
  }
}

TEST(IncrementalDetokenizerTest, RealTexts) {
  Random random(3);
  const auto tokenizer = LoadTokenizer(text_test::NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  for (const char* text : {"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 family, "
                           "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD skin tone",
                           "e\xCC\x81 combining, \xE0\xB8\x97\xE0\xB8\xB5\xE0\xB9\x88 Thai, "
                           "\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\xB7",
                           "<think>\n\xE4\xBD\xA0\xE5\xA5\xBD</think>\n\n<|im_end|>tail"}) {
    CheckAllCuttings(tokenizer, *tokenizer->Encode(text), random);
  }
}

TEST(IncrementalDetokenizerTest, AnIdWithoutATokenChangesNothing) {
  const auto tokenizer = LoadTokenizer(text_test::NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  const auto ids = *tokenizer->Encode("\xF0\x9F\x98\x80");
  ASSERT_GE(ids.size(), 2u);
  IncrementalDetokenizer detokenizer(tokenizer);
  std::string text(*detokenizer.Append(ids[0]));
  EXPECT_EQ(detokenizer.Append(1 << 20).status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(detokenizer.Append(std::vector<int32_t>{5, -1}).ok());
  for (size_t i = 1; i < ids.size(); ++i) text += *detokenizer.Append(ids[i]);
  text += detokenizer.Finish();
  EXPECT_EQ(text, "\xF0\x9F\x98\x80");
}

TEST(IncrementalDetokenizerTest, FinishStartsANewText) {
  const auto tokenizer = LoadTokenizer(text_test::NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  const auto ids = *tokenizer->Encode("\xF0\x9F\x98\x80");
  IncrementalDetokenizer detokenizer(tokenizer);
  EXPECT_EQ(*detokenizer.Append(ids[0]), "");
  EXPECT_EQ(detokenizer.Finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(detokenizer.Finish(), "");
  EXPECT_EQ(*detokenizer.Append(*tokenizer->Encode("ok")), "ok");
}

// The Gemma family's byte tokens: whole characters decode as the reference does.
TEST(IncrementalDetokenizerTest, ByteFallbackGoldens) {
  const auto folder = text_test::ModelFolder({"nano-gemma4"});
  if (!std::filesystem::exists(folder / "tokenizer.json")) {
    GTEST_SKIP() << "needs nano-gemma4 in models/ or ../shared/models";
  }
  const auto tokenizer = LoadTokenizer(folder);
  ASSERT_NE(tokenizer, nullptr);
  Random random(4);
  const auto golden = text_test::ReadGolden("tokenizer_nano-gemma4.json");
  ASSERT_GE(golden["encode"].size(), 250u);
  for (const auto& item : golden["encode"]) {
    const auto ids = text_test::ParseIds(item["ids"]);
    EXPECT_EQ(*tokenizer->Encode(item["text"].get<std::string>()), ids);
    EXPECT_EQ(*tokenizer->Decode(ids, false), item["decoded"].get<std::string>());
    CheckAllCuttings(tokenizer, ids, random);
  }
}

}  // namespace
}  // namespace verbatim
