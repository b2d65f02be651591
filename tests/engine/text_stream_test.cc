// TextStream: the two text layers together on the real tokenizer of the nano model.
#include "engine/text_stream.h"

#include <gtest/gtest.h>

#include "tests/support/test_models.h"

namespace verbatim {
namespace {

class TextStreamTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Tokenizer> tokenizer_ = *Tokenizer::Load(testing::NanoModel());
};

TEST_F(TextStreamTest, PiecesJoinToTheText) {
  const std::string text = "naïve café 🙂 – ok";
  auto stream = *TextStream::Create(tokenizer_, {});
  std::string joined;
  const auto ids = tokenizer_->Encode(text);
  for (const int32_t id : *ids) joined += stream.Push(id);
  joined += stream.Finish();
  EXPECT_EQ(joined, text);
  EXPECT_FALSE(stream.stopped());
}

TEST_F(TextStreamTest, StopsAcrossTokenEdgesAndStaysStopped) {
  auto stream = *TextStream::Create(tokenizer_, {"zzz", "lo wor"});
  std::string joined;
  const auto ids = tokenizer_->Encode("hello world, hello");
  for (const int32_t id : *ids) joined += stream.Push(id);
  joined += stream.Finish();
  EXPECT_EQ(joined, "hel");
  EXPECT_EQ(stream.matched_stop(), "lo wor");
}

TEST_F(TextStreamTest, AnIdWithoutATokenHasNoText) {
  auto stream = *TextStream::Create(tokenizer_, {});
  EXPECT_EQ(stream.Push(1 << 30), "");
}

TEST_F(TextStreamTest, RefusesAnEmptyStopString) {
  EXPECT_EQ(TextStream::Create(tokenizer_, {""}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace verbatim
