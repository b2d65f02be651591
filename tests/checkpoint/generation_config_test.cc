// generation_config.json as transformers reads it, key by key.
#include "checkpoint/generation_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace verbatim {
namespace {

Expected<GenerationDefaults> Parse(std::string_view text) {
  return ParseGenerationDefaults(nlohmann::json::parse(text), "generation_config.json");
}

TEST(GenerationConfig, TakesWhatQwenPublishes) {
  const auto defaults = Parse(R"({"bos_token_id": 1, "do_sample": true, "eos_token_id": [2, 3],
      "temperature": 0.6, "top_k": 20, "top_p": 0.95, "transformers_version": "5.0"})");
  ASSERT_TRUE(defaults.ok()) << defaults.status().message();
  EXPECT_EQ(defaults->sampling.temperature, 0.6F);
  EXPECT_EQ(defaults->sampling.top_k, 20);
  EXPECT_EQ(defaults->sampling.top_p, 0.95F);
  EXPECT_EQ(defaults->sampling.min_p, 0);
  EXPECT_EQ(defaults->fields,
            (std::vector<std::string>{"do_sample", "temperature", "top_k", "top_p"}));
}

TEST(GenerationConfig, IsGreedyUnlessItSamples) {
  for (const char* text : {R"({})", R"({"temperature": 0.7})", R"({"do_sample": null})",
                           R"({"do_sample": false, "temperature": 0.7})"}) {
    const auto defaults = Parse(text);
    ASSERT_TRUE(defaults.ok()) << text;
    EXPECT_EQ(defaults->sampling.temperature, 0) << text;
  }
  EXPECT_EQ(Parse(R"({"do_sample": true})")->sampling.temperature, 1);
  EXPECT_EQ(Parse(R"({"repetition_penalty": 1.05})")->sampling.repetition_penalty, 1.05F);
}

TEST(GenerationConfig, NamesWhatIsWrong) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"temperature", "-1"},
                                                        {"temperature", "\"hot\""},
                                                        {"temperature", "1e30"},
                                                        {"top_k", "-1"},
                                                        {"top_k", "1.5"},
                                                        {"top_k", "99999999999"},
                                                        {"top_p", "1.01"},
                                                        {"min_p", "2"},
                                                        {"repetition_penalty", "0"},
                                                        {"repetition_penalty", "[1]"},
                                                        {"do_sample", "\"yes\""}}) {
    const auto defaults = Parse("{\"" + key + "\": " + value + "}");
    ASSERT_FALSE(defaults.ok()) << key << " " << value;
    EXPECT_EQ(defaults.status().code(), StatusCode::kCorrupt);
    EXPECT_NE(defaults.status().message().find("generation_config.json: " + key), std::string::npos)
        << defaults.status().message();
  }
}

}  // namespace
}  // namespace verbatim
