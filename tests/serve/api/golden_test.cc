// One answer as each API writes it, byte for byte, streamed and whole. The files are also read by
// the types of real clients (client_types_test.py). VERBATIM_UPDATE_GOLDENS=1 writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/serve/api/answer_support.h"

namespace verbatim::serve::testing {
namespace {

using Kind = AnswerDelta::Kind;

Step MakeStep(int32_t id, std::string text, std::vector<AnswerDelta> deltas) {
  Step step;
  step.token.id = id;
  step.token.text = text;
  step.token.logprobs.raw = -0.1F;
  step.token.logprobs.top_raw = {{.token_id = id, .logprob = -0.1F},
                                 {.token_id = 7, .logprob = -2.5F}};
  step.token.top = {text, "\xff"};
  step.token.drafted = id % 2 == 0;
  step.token.block = id / 2;
  step.token.row = id % 2;
  step.token.block_rows = 2;
  step.deltas = std::move(deltas);
  return step;
}

AnswerScript Answer(Api api) {
  AnswerScript script;
  AnswerRequest& request = script.request;
  request.api = api;
  request.include_usage = true;
  request.token_details = true;
  request.sampling.logprobs = 2;
  request.prompts = {"p"};
  request.echoed = {{"instructions", nullptr},
                    {"parallel_tool_calls", true},
                    {"temperature", 0.5},
                    {"text", {{"format", {{"type", "text"}}}}},
                    {"tool_choice", "auto"},
                    {"tools", Json::array()},
                    {"top_p", 1.0}};
  script.head = {.id = "0a1b",
                 .created = 1'700'000'000,
                 .model = "tiny",
                 .system_fingerprint = "verbatim-fp",
                 .prompt_tokens = 12};
  ChoiceScript choice;
  const auto text = [](Kind kind, const char* part) {
    return AnswerDelta{.kind = kind, .text = part};
  };
  const bool plain = api == Api::kCompletions;
  if (!plain) choice.steps.push_back(MakeStep(1, "Hm", {text(Kind::kReasoning, "Hm")}));
  choice.steps.push_back(MakeStep(2, "Gr\xc3", {text(Kind::kContent, "Gr")}));
  choice.steps.push_back(MakeStep(3, "\xbc\xc3\x9f", {text(Kind::kContent, "\u00fc\u00df")}));
  choice.steps.push_back(MakeStep(4, " \"dich\"\n", {text(Kind::kContent, " \"dich\"\n")}));
  if (!plain) {
    choice.steps.push_back(MakeStep(5, "<tool_call>", {text(Kind::kToolCall, "look_up")}));
    choice.steps.push_back(MakeStep(6, "{", {text(Kind::kToolCallArguments, "{\"city\": ")}));
    choice.last = {text(Kind::kToolCallArguments, "\"K\u00f6ln\"}")};
  }
  ChoiceEnd& end = choice.end;
  end.called_tools = !plain;
  end.has_matched_stop = plain;
  end.matched_stop = plain ? "END" : "";
  end.logits_sha256 = std::string(64, '0');
  end.receipt = R"({"verbatim_receipt": 1})";
  end.prompt_tokens = 12;
  end.cached_prompt_tokens = 8;
  end.completion_tokens = static_cast<int64_t>(choice.steps.size());
  end.reasoning_tokens = plain ? 0 : 1;
  end.speculation_kind = "mtp";
  end.speculation = {.rounds = 3, .drafted = 5, .tested = 4, .accepted = 3};
  end.speculation.drafted_at = {3, 2};
  end.speculation.tested_at = {3, 1};
  end.speculation.accepted_at = {2, 1};
  end.speculation.rounds_with_width = {0, 1, 2};
  end.timings = {.prompt_ms = 20, .predicted_ms = 50};
  script.choices.push_back(std::move(choice));
  return script;
}

void ExpectGolden(const std::string& name, const std::string& written) {
  const std::string path = VERBATIM_SOURCE_DIR "/tests/serve/api/goldens/" + name;
  if (std::getenv("VERBATIM_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path, std::ios::binary) << written;
  }
  std::ostringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(written, golden.str()) << name;
}

TEST(Goldens, AnswersAreWrittenAsBefore) {
  const std::pair<Api, std::string> apis[] = {{Api::kChatCompletions, "chat"},
                                              {Api::kCompletions, "completions"},
                                              {Api::kResponses, "responses"},
                                              {Api::kMessages, "messages"}};
  for (const auto& [api, name] : apis) {
    const AnswerScript script = Answer(api);
    ExpectGolden(name + ".json", Write(script, PartsByStep(script), false));
    ExpectGolden(name + ".sse", Write(script, PartsByStep(script), true));
  }
}

TEST(Goldens, AFailureInsideOfAStreamIsAnEvent) {
  const ApiError error = {.status = 500, .type = "server_error", .message = "[x] expected y"};
  const std::pair<Api, const char*> apis[] = {
      {Api::kChatCompletions, "data: {\"error\":{\"message\":\"[x] expected y\""},
      {Api::kCompletions, "data: {\"error\":{\"message\":\"[x] expected y\""},
      {Api::kResponses, "event: response.failed\ndata: {\"type\":\"response.failed\""},
      {Api::kMessages,
       "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""}};
  for (const auto& [api, start] : apis) {
    AnswerScript script = Answer(api);
    script.request.stream = true;
    const auto writer = MakeAnswerWriter(script.request, script.head);
    writer->Begin();
    writer->Part(PartsByStep(script)[0]);
    const std::string failed = writer->Fail(error);
    EXPECT_TRUE(failed.starts_with(start)) << failed;
    EXPECT_TRUE(failed.ends_with("\n\n"));
    EXPECT_EQ(ParseSse(failed).size(), 1U);
  }
}

}  // namespace
}  // namespace verbatim::serve::testing
