// Bodies of /v1/completions: prompts as text and as ids.
#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

constexpr Api kApi = Api::kCompletions;
using Ids = std::vector<int32_t>;

TEST(Completions, PromptsAreTextsOrIds) {
  const auto prompts = [](std::string_view prompt) {
    return Accepted(kApi, R"("prompt": )" + std::string(prompt)).prompts;
  };
  using Prompts = std::vector<CompletionPrompt>;
  EXPECT_EQ(prompts(R"("a b")"), (Prompts{"a b"}));
  EXPECT_EQ(prompts(R"(["a", "b"])"), (Prompts{"a", "b"}));
  EXPECT_EQ(prompts(R"([1, 0, 999])"), (Prompts{Ids{1, 0, 999}}));
  EXPECT_EQ(prompts(R"([[1], [2, 3]])"), (Prompts{Ids{1}, Ids{2, 3}}));
  EXPECT_EQ(prompts(R"(["a", [2, 3]])"), (Prompts{"a", Ids{2, 3}}));
}

TEST(Completions, WrongPromptsAreRefusedByPlace) {
  const auto refused = [](std::string_view prompt, std::string_view param,
                          std::string_view part = "") {
    ExpectRefused(kApi, R"("prompt": )" + std::string(prompt), param, part);
  };
  refused("null", "prompt", "no such field");
  refused("1", "prompt", "received 1");
  refused("{}", "prompt");
  refused("\"\"", "prompt", "at least one token");
  refused("[]", "prompt", "at least one token");
  refused(R"(["a", ""])", "prompt[1]", "at least one token");
  refused("[[1], []]", "prompt[1]", "at least one token");
  refused("[1, 1000]", "prompt[1]", "0 to 999, received 1000");
  refused("[1, -1]", "prompt[1]");
  refused("[1, 1.0]", "prompt[1]");
  refused(R"([1, "a"])", "prompt[1]");
  refused(R"([[1, 1000]])", "prompt[0][1]");
  refused(R"(["a", true])", "prompt[1]");
  refused(R"([[[1]]])", "prompt[0][0]");
  std::string many = "[\"a\"";
  for (int i = 0; i < TestLimits().max_prompts; ++i) many += ",\"a\"";
  refused(many + "]", "prompt", "at most 64");
}

TEST(Completions, OtherFields) {
  EXPECT_EQ(Accepted(kApi, R"("logprobs": 0)").sampling.logprobs, 0);
  EXPECT_EQ(Accepted(kApi, R"("logprobs": 5)").sampling.logprobs, 5);
  EXPECT_TRUE(Accepted(kApi, R"("echo": true)").echo);
  EXPECT_EQ(Accepted(kApi, R"("max_tokens": 3)").max_tokens, 3);
  EXPECT_EQ(Accepted(kApi, R"("n": 3, "best_of": 3)").n, 3);
  EXPECT_THAT(Accepted(kApi, R"("stop": "x")").stop, ::testing::ElementsAre("x"));
  EXPECT_EQ(Accepted(kApi, R"("response_format": {"type": "json_object"})").constraint.kind,
            ConstraintKind::kJsonObject);
  ExpectRefused(kApi, R"("logprobs": true)", "logprobs");
  ExpectRefused(kApi, R"("logprobs": 21)", "logprobs");
  ExpectRefused(kApi, R"("logprobs": 1, "echo": true)", "logprobs", "echo");
  ExpectRefused(kApi, R"("echo": 1)", "echo");
  ExpectRefused(kApi, R"("best_of": 2)", "best_of");
  ExpectRefused(kApi, R"("max_tokens": 0)", "max_tokens");
}

}  // namespace
}  // namespace verbatim::serve::testing
