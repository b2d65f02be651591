// Tokenizer against the ids and texts of the Python package, and its errors. Not incremental text.
#include "text/tokenizer.h"

#include <thread>

#include "tests/text/text_test_support.h"

namespace verbatim {
namespace {

using text_test::LoadTokenizer;
using text_test::NanoFolder;
using text_test::ParseIds;
using text_test::ReadFile;
using text_test::ReadGolden;
using text_test::TinyFolder;

struct Model {
  const char* golden;
  std::filesystem::path (*folder)();
};

class TokenizerGoldens : public testing::TestWithParam<Model> {};

TEST_P(TokenizerGoldens, EncodesAsTheReference) {
  const auto tokenizer = LoadTokenizer(GetParam().folder());
  ASSERT_NE(tokenizer, nullptr);
  const auto golden = ReadGolden(GetParam().golden);
  ASSERT_GE(golden["encode"].size(), 250u);
  for (const auto& item : golden["encode"]) {
    const std::string text = item["text"];
    const auto ids = tokenizer->Encode(text);
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, ParseIds(item["ids"])) << text;
    const auto plain = tokenizer->Encode(text, /*parse_special=*/false);
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(*plain, ParseIds(item.value("plain_ids", item["ids"].get<std::string>()))) << text;
  }
}

TEST_P(TokenizerGoldens, DecodesAsTheReference) {
  const auto tokenizer = LoadTokenizer(GetParam().folder());
  ASSERT_NE(tokenizer, nullptr);
  const auto golden = ReadGolden(GetParam().golden);
  for (const auto& item : golden["decode"]) {
    const auto ids = ParseIds(item["ids"]);
    EXPECT_EQ(*tokenizer->Decode(ids, false), item["text"].get<std::string>());
    EXPECT_EQ(*tokenizer->Decode(ids, true), item["no_special"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TokenizerGoldens,
                         testing::Values(Model{"tokenizer_nano-qwen35.json", NanoFolder},
                                         Model{"tokenizer_tiny-qwen35.json", TinyFolder}),
                         [](const auto& param) { return param.index == 0 ? "nano" : "tiny"; });

TEST(TokenizerTest, ThinkAndToolTagsAreNotSpecial) {  // qwen3_5.md pitfall 50
  const auto tokenizer = LoadTokenizer(NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  for (const char* text : {"<think>", "</think>", "<tool_call>", "</tool_response>"}) {
    const auto id = tokenizer->TokenId(text);
    ASSERT_TRUE(id) << text;
    EXPECT_FALSE(tokenizer->IsSpecial(*id)) << text;
    EXPECT_EQ(*tokenizer->TokenBytes(*id), text);
    EXPECT_EQ(*tokenizer->Decode(std::vector{*id}, /*skip_special=*/true), text);
  }
  const auto end = tokenizer->TokenId("<|im_end|>");
  ASSERT_TRUE(end);
  EXPECT_TRUE(tokenizer->IsSpecial(*end));
  EXPECT_EQ(*tokenizer->Decode(std::vector{*end}, true), "");
  EXPECT_EQ(tokenizer->TokenId("no such token"), std::nullopt);
}

TEST(TokenizerTest, IdsOutsideTheVocabularyAreErrors) {
  const auto tokenizer = LoadTokenizer(NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->vocab_size(), 1024);
  for (const int32_t id : {-1, 1024, 1 << 30, INT32_MIN, INT32_MAX}) {
    EXPECT_FALSE(tokenizer->HasToken(id));
    EXPECT_FALSE(tokenizer->IsSpecial(id));
    EXPECT_EQ(tokenizer->TokenBytes(id).status().code(), StatusCode::kInvalidArgument);
    const auto text = tokenizer->Decode(std::vector<int32_t>{0, id}, false);
    ASSERT_FALSE(text.ok());
    EXPECT_NE(text.status().message().find(std::to_string(id)), std::string::npos);
  }
}

TEST_P(TokenizerGoldens, LeastTokensIsNoMoreThanThereAre) {
  const auto tokenizer = LoadTokenizer(GetParam().folder());
  ASSERT_NE(tokenizer, nullptr);
  const auto golden = ReadGolden(GetParam().golden);
  const auto check = [&](const std::string& text) {
    EXPECT_LE(tokenizer->LeastTokens(text), static_cast<int64_t>(tokenizer->Encode(text)->size()))
        << text;
  };
  size_t longest = 0;
  int32_t longest_id = 0;
  for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
    if (!tokenizer->HasToken(id) || tokenizer->TokenBytes(id)->size() <= longest) continue;
    longest = tokenizer->TokenBytes(id)->size();
    longest_id = id;
  }
  std::string tokens, composed;
  for (int i = 0; i < 50; ++i) {
    tokens += *tokenizer->TokenBytes(longest_id);
    composed += "\u1112\u1161\u11ab";  // nine bytes that become three
  }
  check(tokens);
  check(composed);
  for (const auto& item : golden["encode"]) check(item["text"]);
  EXPECT_GE(tokenizer->LeastTokens(std::string(1 << 20, 'a')), 100);
}

TEST(TokenizerTest, TextThatIsNotUtf8NamesTheByte) {
  const auto tokenizer = LoadTokenizer(NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  for (const std::string text : {"ab\xFF", "ab\xE2\x82", "ab\xED\xA0\x80", "ab\xC0\x80"}) {
    const auto ids = tokenizer->Encode(text);
    ASSERT_FALSE(ids.ok());
    EXPECT_EQ(ids.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(ids.status().message().find("byte offset 2"), std::string::npos)
        << ids.status().message();
  }
  EXPECT_TRUE(tokenizer->Encode(std::string_view("a\0b", 3)).ok());
}

TEST(TokenizerTest, EncodesFromSeveralThreads) {
  const auto tokenizer = LoadTokenizer(NanoFolder());
  ASSERT_NE(tokenizer, nullptr);
  const std::string text = "Hi <|im_end|> there <think> 123";
  const auto parsed = *tokenizer->Encode(text, true);
  const auto plain = *tokenizer->Encode(text, false);
  ASSERT_NE(parsed, plain);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const bool special = (i + t) % 3 != 0;
        wrong[t] += *tokenizer->Encode(text, special) != (special ? parsed : plain);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(TokenizerTest,
     TokensOfTokenizerConfigAreAdded) {  // qwen3_5.md 7.1: ids above tokenizer.json's
  const std::string json = ReadFile(NanoFolder() / "tokenizer.json");
  const auto good = Tokenizer::FromJson(json,
                                        R"({"added_tokens_decoder": {
           "1025": {"content": "<|more|>", "special": true},
           "1024": {"content": "<extra>", "special": false, "normalized": false}}})",
                                        "test");
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ((*good)->vocab_size(), 1026);
  EXPECT_EQ((*good)->TokenId("<extra>"), 1024);
  EXPECT_FALSE((*good)->IsSpecial(1024));
  EXPECT_TRUE((*good)->IsSpecial(1025));
  EXPECT_EQ(*(*good)->Encode("<extra><|more|>"), (std::vector<int32_t>{1024, 1025}));

  // Refused before it is printed into an error, which would use up the stack.
  const std::string deep = R"({"added_tokens_decoder": {"x": )" + std::string(1000000, '[') +
                           std::string(1000000, ']') + "}}";
  for (const char* config : {
           R"({"added_tokens_decoder": {"1030": {"content": "<extra>"}}})",  // a gap
           R"({"added_tokens_decoder": {"3": {"content": "<|im_end|>"}}})",  // another id
           R"({"added_tokens_decoder": {"x": {"content": "<extra>"}}})",
           R"({"added_tokens_decoder": {"99999999999999999999": {"content": "<extra>"}}})",
           R"({"added_tokens_decoder": {"1024": {}}})",
           R"({"added_tokens_decoder": {"1024": {"content": ""}}})",
           R"([])",
           "{",
           deep.c_str(),
       }) {
    const auto bad = Tokenizer::FromJson(json, config, "test");
    ASSERT_FALSE(bad.ok()) << config;
    EXPECT_EQ(bad.status().code(), StatusCode::kCorrupt) << bad.status().message();
  }
}

TEST(TokenizerTest, EndOfSequenceTokenAsTextOrObject) {
  const std::string json = ReadFile(NanoFolder() / "tokenizer.json");
  const auto eos = [&](const char* config) {
    const auto loaded = Tokenizer::FromJson(json, config, "test");
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return loaded.ok() ? (*loaded)->eos_token_id() : std::nullopt;
  };
  const std::optional<int32_t> id = eos(R"({"eos_token": "<|im_end|>"})");
  EXPECT_TRUE(id.has_value());
  EXPECT_EQ(eos(R"({"eos_token": {"content": "<|im_end|>"}})"), id);
  for (const char* none : {R"({"eos_token": null})", R"({"eos_token": {"content": 5}})",
                           R"({"eos_token": {}})", R"({"eos_token": "nothing"})", "{}"}) {
    EXPECT_EQ(eos(none), std::nullopt) << none;
  }
}

TEST(TokenizerTest, StoredTruncationAndPaddingAreIgnored) {
  auto json = nlohmann::ordered_json::parse(ReadFile(NanoFolder() / "tokenizer.json"));
  json["truncation"] = {
      {"direction", "Right"}, {"max_length", 2}, {"strategy", "LongestFirst"}, {"stride", 0}};
  json["padding"] = {{"strategy", {{"Fixed", 64}}},
                     {"direction", "Right"},
                     {"pad_to_multiple_of", nullptr},
                     {"pad_id", 0},
                     {"pad_type_id", 0},
                     {"pad_token", "!"}};
  const auto changed = Tokenizer::FromJson(json.dump(), "", "test");
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  const auto plain = LoadTokenizer(NanoFolder());
  EXPECT_EQ(*(*changed)->Encode("a longer text than two"),
            *plain->Encode("a longer text than two"));
}

TEST(TokenizerTest, DamagedFilesAreErrors) {
  const std::string json = ReadFile(NanoFolder() / "tokenizer.json");
  auto dropout = nlohmann::ordered_json::parse(json);
  dropout["model"]["dropout"] = 0.5;
  auto decoder = nlohmann::ordered_json::parse(json);
  decoder["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  auto huge_id = nlohmann::ordered_json::parse(json);
  huge_id["model"]["vocab"]["zzz"] = 4000000000u;
  const std::pair<std::string, StatusCode> cases[] = {
      {"", StatusCode::kCorrupt},
      {"{", StatusCode::kCorrupt},
      {"null", StatusCode::kCorrupt},
      {"{}", StatusCode::kCorrupt},
      {"\xFF\xFE", StatusCode::kCorrupt},
      {json.substr(0, json.size() / 2), StatusCode::kCorrupt},
      {std::string(100000, '['), StatusCode::kCorrupt},
      {huge_id.dump(), StatusCode::kCorrupt},
      {dropout.dump(), StatusCode::kUnsupported},
      {decoder.dump(), StatusCode::kUnsupported},
  };
  for (const auto& [text, code] : cases) {
    const auto loaded = Tokenizer::FromJson(text, "", "some/folder");
    ASSERT_FALSE(loaded.ok()) << text.substr(0, 40);
    EXPECT_EQ(loaded.status().code(), code) << loaded.status().message();
    EXPECT_NE(loaded.status().message().find("tokenizer.json"), std::string::npos)
        << loaded.status().message();
  }
  EXPECT_EQ(Tokenizer::Load("/nonexistent").status().code(), StatusCode::kNotFound);
}

// Every file with one byte changed loads or is refused, and what loads can be used.
TEST(TokenizerTest, ChangedBytesNeverCrash) {
  const std::string json = ReadFile(NanoFolder() / "tokenizer.json");
  text_test::Random random(7);
  for (int i = 0; i < 60; ++i) {
    std::string changed = json;
    // The first bytes hold the configuration, where changes do most.
    changed[random.Below(i % 2 ? json.size() : 4000)] = static_cast<char>(random.Next());
    const auto loaded = Tokenizer::FromJson(changed, "", "test");
    if (!loaded.ok()) continue;
    const auto ids = (*loaded)->Encode("Hello 世界 <think>\n");
    if (!ids.ok()) continue;
    EXPECT_TRUE((*loaded)->Decode(*ids, false).ok());
  }
}

}  // namespace
}  // namespace verbatim
