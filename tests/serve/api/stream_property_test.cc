// However an answer is cut into parts, what a client assembles from its stream is the whole answer.
#include <gtest/gtest.h>

#include "tests/serve/api/answer_support.h"
#include "tests/support/sample_size.h"

namespace verbatim::serve::testing {
namespace {

// Without the order of keys, which assembling changes, and without what a stream may lack.
nlohmann::json Comparable(Json answer, bool stream_has_usage) {
  nlohmann::json sorted = nlohmann::json::parse(answer.dump());
  if (!stream_has_usage) {
    sorted.erase("usage");
    sorted.erase("metrics");  // beside the usage, as vLLM has it
  }
  const auto add_tokens = [](nlohmann::json& holder) {
    if (!holder.contains("tokens")) holder["tokens"] = nlohmann::json::array();
  };
  if (!sorted.contains("choices")) return sorted;
  for (nlohmann::json& choice : sorted["choices"]) {
    add_tokens(choice["verbatim"]);
    // No token, no list in the stream.
    if (choice["logprobs"].is_object() && choice["logprobs"].contains("tokens") &&
        choice["logprobs"]["tokens"].empty()) {
      choice["logprobs"] = nullptr;
    }
    if (choice["logprobs"].is_object() && choice["logprobs"].contains("content") &&
        choice["logprobs"]["content"].empty()) {
      choice["logprobs"] = nullptr;
    }
  }
  return sorted;
}

constexpr Api kApis[] = {Api::kChatCompletions, Api::kCompletions, Api::kResponses, Api::kMessages};

class StreamProperty : public ::testing::TestWithParam<Api> {};

TEST_P(StreamProperty, AClientHasTheWholeAnswerForEveryCut) {
  const Api api = GetParam();
  const int answers = verbatim::testing::Sampled(400, 40);
  for (int seed = 0; seed < answers; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const AnswerScript script = RandomAnswer(api, random);
    const std::string whole = Write(script, PartsByStep(script), false);
    const bool usage =
        script.request.include_usage || api == Api::kResponses || api == Api::kMessages;
    const nlohmann::json expected = Comparable(Json::parse(whole), usage);
    for (int cut = 0; cut < 3; ++cut) {
      const std::vector<AnswerPart> parts = RandomParts(script, random);
      EXPECT_EQ(Write(script, parts, false), whole);
      ASSERT_EQ(Comparable(Assemble(script, Write(script, parts, true)), usage), expected);
    }
    if (HasFailure()) return;
  }
}

std::string NameOf(const ::testing::TestParamInfo<Api>& api) {
  switch (api.param) {
    case Api::kChatCompletions:
      return "Chat";
    case Api::kCompletions:
      return "Completions";
    case Api::kResponses:
      return "Responses";
    case Api::kMessages:
      return "Messages";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Apis, StreamProperty, ::testing::ValuesIn(kApis), NameOf);

}  // namespace
}  // namespace verbatim::serve::testing
