// Where a reply ends and which tags its text keeps (qwen3_5.md 9, items 49 and 50).
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/text_stream.h"
#include "tests/checkpoint/synthetic.h"
#include "tests/support/test_models.h"
#include "verbatim/engine.h"

namespace verbatim::testing {
namespace {

std::unique_ptr<Engine> LoadEngine(const std::filesystem::path& folder) {
  auto engine = Engine::Load({.model = folder.string()});
  if (!engine.ok()) ADD_FAILURE() << engine.status().message();
  return engine.ok() ? *std::move(engine) : nullptr;
}

// Item 49: config.json names <|endoftext|> alone; <|im_end|> comes from generation_config.json.
TEST(StopSet, RepliesEndAtImEndBecauseOfGenerationConfig) {
  const auto engine = LoadEngine(NanoModel());
  ASSERT_NE(engine, nullptr);
  const auto tokenizer = *Tokenizer::Load(NanoModel());
  const int32_t im_end = *tokenizer->TokenId("<|im_end|>");
  const int32_t end_of_text = *tokenizer->TokenId("<|endoftext|>");
  EXPECT_EQ(engine->info().eos_token_ids, (std::vector<int32_t>{im_end, end_of_text}));

  const TempFolder without;
  for (const auto& entry : std::filesystem::directory_iterator(NanoModel())) {
    if (entry.path().filename() == "generation_config.json") continue;
    std::filesystem::copy(entry.path(), without.path() / entry.path().filename());
  }
  const auto config_only = LoadEngine(without.path());
  ASSERT_NE(config_only, nullptr);
  EXPECT_EQ(config_only->info().eos_token_ids, std::vector<int32_t>{end_of_text});

  int ended = 0;
  for (const Prompt& prompt : LoadPrompts(NanoModel())) {
    if (prompt.kind != "chat") continue;
    Request request;
    request.prompt_token_ids = prompt.ids;
    request.max_tokens = 100;
    const Result reply = *engine->Generate(request);
    if (reply.finish_reason != FinishReason::kStop) continue;
    EXPECT_EQ(reply.token_ids.back(), im_end);
    EXPECT_EQ(reply.text.find("<|im_end|>"), std::string::npos);
    const Result beyond = *config_only->Generate(request);
    EXPECT_GT(beyond.token_ids.size(), reply.token_ids.size());
    if (++ended == 3) break;
  }
  EXPECT_EQ(ended, 3);
}

// Item 50: <think> is an added token but not a special one; a reply shows it.
TEST(StopSet, ThinkTagsStayInTheTextAndTurnTagsDoNot) {
  const auto tokenizer = *Tokenizer::Load(NanoModel());
  auto stream = *TextStream::Create(tokenizer, {});
  std::string text;
  const auto ids = tokenizer->Encode("<think>\nso\n</think>\n\nyes<|im_end|>");
  for (const int32_t id : *ids) text += stream.Push(id);
  text += stream.Finish();
  EXPECT_EQ(text, "<think>\nso\n</think>\n\nyes");
}

}  // namespace
}  // namespace verbatim::testing
