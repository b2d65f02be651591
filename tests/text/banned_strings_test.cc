// BannedStrings: whatever token is let through, the joined bytes never hold a banned string; and
// nothing else is banned.
#include "text/banned_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/test_models.h"

namespace verbatim {
namespace {

std::shared_ptr<const Tokenizer> LoadTokenizer() {
  auto tokenizer = Tokenizer::Load(testing::TinyQuantizedModel());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

std::string_view BytesOf(const Tokenizer& tokenizer, int32_t id) {
  if (!tokenizer.HasToken(id) || tokenizer.IsSpecial(id)) return {};
  return *tokenizer.TokenBytes(id);
}

// At every step each id is banned if and only if it would complete a string.
TEST(BannedStrings, BansExactlyWhatWouldCompleteAString) {
  const auto tokenizer = LoadTokenizer();
  const std::vector<std::string> strings = {"the", " and", "e", "aba", "ababc", "\xc3\xa9", "\n\n"};
  std::minstd_rand random(1);
  for (size_t first = 0; first < strings.size(); ++first) {
    const std::vector<std::string> some(strings.begin() + static_cast<ptrdiff_t>(first),
                                        strings.end());
    BannedStrings banned(BannedStrings::Compile(tokenizer, some));
    std::string text;
    for (int step = 0; step < 40; ++step) {
      std::vector<bool> is_banned(tokenizer->vocab_size());
      for (const int32_t id : banned.ids()) is_banned[id] = true;
      std::vector<int32_t> allowed;
      for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
        const std::string next = text + std::string(BytesOf(*tokenizer, id));
        const bool completes = std::ranges::any_of(some, [&](const std::string& string) {
          return next.find(string) != std::string::npos;
        });
        ASSERT_EQ(is_banned[id], completes) << "id " << id << " after '" << text << "'";
        if (!completes) allowed.push_back(id);
      }
      const int32_t id = allowed[random() % allowed.size()];
      text += BytesOf(*tokenizer, id);
      banned.Push(id);
    }
  }
}

TEST(BannedStrings, RefusesWhatCostsTooMuch) {
  EXPECT_TRUE(BannedStrings::Check(std::vector<std::string>{"a"}).ok());
  EXPECT_FALSE(BannedStrings::Check(std::vector<std::string>{"a", ""}).ok());
  EXPECT_FALSE(BannedStrings::Check(std::vector<std::string>{std::string(257, 'a')}).ok());
  EXPECT_FALSE(BannedStrings::Check(std::vector<std::string>(65, "a")).ok());
}

}  // namespace
}  // namespace verbatim
