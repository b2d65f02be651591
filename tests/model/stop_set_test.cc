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

// The nano model whose tokenizer names no end of its own, with or without generation_config.json.
void CopyModel(const std::filesystem::path& to, bool with_generation_config) {
  for (const auto& entry : std::filesystem::directory_iterator(NanoModel())) {
    const auto name = entry.path().filename();
    if (name == "generation_config.json" && !with_generation_config) continue;
    std::filesystem::copy(entry.path(), to / name);
  }
  auto config = nlohmann::json::parse(ReadFile(to / "tokenizer_config.json"));
  config.erase("eos_token");
  WriteFile(to / "tokenizer_config.json", config.dump());
}

// Item 49: config.json names <|endoftext|> alone; <|im_end|> comes from generation_config.json.
TEST(StopSet, RepliesEndAtImEndBecauseOfGenerationConfig) {
  const TempFolder with_both;
  const TempFolder with_one;
  CopyModel(with_both.path(), true);
  CopyModel(with_one.path(), false);
  const auto engine = LoadEngine(with_both.path());
  const auto config_only = LoadEngine(with_one.path());
  ASSERT_NE(engine, nullptr);
  ASSERT_NE(config_only, nullptr);
  const auto tokenizer = *Tokenizer::Load(NanoModel());
  const int32_t im_end = *tokenizer->TokenId("<|im_end|>");
  const int32_t end_of_text = *tokenizer->TokenId("<|endoftext|>");
  EXPECT_EQ(engine->info().eos_token_ids, (std::vector<int32_t>{im_end, end_of_text}));
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
