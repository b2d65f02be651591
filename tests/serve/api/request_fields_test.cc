// The fields that the APIs share, right and wrong, through each of them.
#include <functional>

#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

struct Right {
  const char* fields;
  std::function<void(const AnswerRequest&)> check;
};

using Request = const AnswerRequest&;

const std::vector<Right>& RightFields() {
  static const std::vector<Right> cases = {
      {"",
       [](Request r) {
         EXPECT_EQ(r.sampling.temperature, 0.6F);
         EXPECT_EQ(r.sampling.top_k, 20);
         EXPECT_EQ(r.sampling.top_p, 0.95F);
         EXPECT_EQ(r.sampling.logprobs, -1);
         EXPECT_FALSE(r.seed);
         EXPECT_FALSE(r.stream);
         EXPECT_EQ(r.n, 1);
         EXPECT_EQ(r.constraint.kind, ConstraintKind::kNone);
       }},
      {R"("model": "m", "stream": true, "stream_options": {"include_usage": true})",
       [](Request r) {
         EXPECT_EQ(r.model, "m");
         EXPECT_TRUE(r.stream);
         EXPECT_TRUE(r.include_usage);
       }},
      {R"("temperature": 0)", [](Request r) { EXPECT_EQ(r.sampling.temperature, 0); }},
      {R"("temperature": 0.1)", [](Request r) { EXPECT_EQ(r.sampling.temperature, 0.1F); }},
      {R"("temperature": 100)", [](Request r) { EXPECT_EQ(r.sampling.temperature, 100); }},
      {R"("temperature": null)", [](Request r) { EXPECT_EQ(r.sampling.temperature, 0.6F); }},
      {R"("top_p": 0.25, "min_p": 0.125)",
       [](Request r) {
         EXPECT_EQ(r.sampling.top_p, 0.25F);
         EXPECT_EQ(r.sampling.min_p, 0.125F);
       }},
      {R"("top_k": -1)", [](Request r) { EXPECT_EQ(r.sampling.top_k, 0); }},
      {R"("top_k": 40.0)", [](Request r) { EXPECT_EQ(r.sampling.top_k, 40); }},
      {R"("repetition_penalty": 1.25)",
       [](Request r) { EXPECT_EQ(r.sampling.repetition_penalty, 1.25F); }},
      {R"("repeat_penalty": 1.5)",
       [](Request r) { EXPECT_EQ(r.sampling.repetition_penalty, 1.5F); }},
      {R"("presence_penalty": -2, "frequency_penalty": 0.5)",
       [](Request r) {
         EXPECT_EQ(r.sampling.presence_penalty, -2);
         EXPECT_EQ(r.sampling.frequency_penalty, 0.5F);
       }},
      {R"("logit_bias": {"5": -100, "999": 1.5, "7": null})",
       [](Request r) {
         ASSERT_EQ(r.sampling.logit_bias.size(), 2U);
         EXPECT_EQ(r.sampling.logit_bias[0].token_id, 5);
         EXPECT_EQ(r.sampling.logit_bias[0].bias, -100);
         EXPECT_EQ(r.sampling.logit_bias[1].token_id, 999);
         EXPECT_EQ(r.sampling.logit_bias[1].bias, 1.5F);
       }},
      {R"("seed": 42)", [](Request r) { EXPECT_EQ(r.seed, 42U); }},
      {R"("seed": 18446744073709551615)", [](Request r) { EXPECT_EQ(r.seed, ~uint64_t{0}); }},
      {R"("seed": -2)", [](Request r) { EXPECT_EQ(r.seed, ~uint64_t{0} - 1); }},
      {R"("seed": -1)", [](Request r) { EXPECT_FALSE(r.seed); }},
      {R"("min_tokens": 3)", [](Request r) { EXPECT_EQ(r.sampling.min_tokens, 3); }},
      {R"("bad_words": ["a", "bc"])",
       [](Request r) {
         EXPECT_THAT(r.sampling.banned_strings, ::testing::ElementsAre("a", "bc"));
       }},
      {R"("banned_strings": ["x"])",
       [](Request r) { EXPECT_THAT(r.sampling.banned_strings, ::testing::ElementsAre("x")); }},
      {R"("banned_token_ids": [1, 2])",
       [](Request r) { EXPECT_THAT(r.sampling.banned_token_ids, ::testing::ElementsAre(1, 2)); }},
      {R"("ignore_eos": true)", [](Request r) { EXPECT_TRUE(r.ignore_eos); }},
      {R"("contract": "strict", "receipt": true, "logits_digest": true, "token_details": true)",
       [](Request r) {
         EXPECT_EQ(r.contract, ContractMode::kStrict);
         EXPECT_TRUE(r.receipt);
         EXPECT_TRUE(r.logits_digest);
         EXPECT_TRUE(r.token_details);
       }},
      {R"("speculation": "off")",
       [](Request r) { EXPECT_EQ(r.speculation, SpeculationKind::kOff); }},
      {R"("speculation": {"kind": "mtp", "draft_tokens": 15})",
       [](Request r) {
         EXPECT_EQ(r.speculation, SpeculationKind::kMtp);
         EXPECT_EQ(r.draft_tokens, 15);
       }},
      {R"("speculation": {"kind": "ngram", "draft_tokens": "auto"})",
       [](Request r) {
         EXPECT_EQ(r.speculation, SpeculationKind::kNgram);
         EXPECT_EQ(r.draft_tokens, 0);
       }},
      {R"("guided_json": {"type": "object"})",
       [](Request r) {
         EXPECT_EQ(r.constraint.kind, ConstraintKind::kJsonSchema);
         EXPECT_EQ(r.constraint.text, R"({"type":"object"})");
       }},
      {R"("guided_json": "{\"type\": \"array\"}")",
       [](Request r) { EXPECT_EQ(r.constraint.text, R"({"type":"array"})"); }},
      {R"("json_schema": true)", [](Request r) { EXPECT_EQ(r.constraint.text, "true"); }},
      {R"("guided_regex": "a+")",
       [](Request r) {
         EXPECT_EQ(r.constraint.kind, ConstraintKind::kRegex);
         EXPECT_EQ(r.constraint.text, "a+");
       }},
      {R"("guided_choice": ["a.b", "c|d"])",
       [](Request r) {
         EXPECT_EQ(r.constraint.kind, ConstraintKind::kRegex);
         EXPECT_EQ(r.constraint.text, R"((?:a\.b|c\|d))");
       }},
      {R"("guided_grammar": "start: /a/")",
       [](Request r) {
         EXPECT_EQ(r.constraint.kind, ConstraintKind::kGrammar);
         EXPECT_EQ(r.constraint.text, "start: /a/");
       }},
      {R"("structured_outputs": {"json": {"type": "object"}})",
       [](Request r) { EXPECT_EQ(r.constraint.kind, ConstraintKind::kJsonSchema); }},
      {R"("structured_outputs": {"choice": ["x"]})",
       [](Request r) { EXPECT_EQ(r.constraint.text, "(?:x)"); }},
      {R"("structured_outputs": {"json_object": true})",
       [](Request r) { EXPECT_EQ(r.constraint.kind, ConstraintKind::kJsonObject); }},
      {R"("structured_outputs": {"regex": "b"})",
       [](Request r) { EXPECT_EQ(r.constraint.text, "b"); }},
      {R"("structured_outputs": {"grammar": "start: /b/"})",
       [](Request r) { EXPECT_EQ(r.constraint.kind, ConstraintKind::kGrammar); }},
      {R"("response_format": {"type": "text"})",
       [](Request r) { EXPECT_EQ(r.constraint.kind, ConstraintKind::kNone); }},
      {R"("response_format": {"type": "json_object"})",
       [](Request r) { EXPECT_EQ(r.constraint.kind, ConstraintKind::kJsonObject); }},
      {R"("response_format": {"type": "json_object", "schema": {"type": "object"}})",
       [](Request r) { EXPECT_EQ(r.constraint.text, R"({"type":"object"})"); }},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"b": 1, "a": 2}}})",
       [](Request r) {
         EXPECT_EQ(r.constraint.kind, ConstraintKind::kJsonSchema);
         EXPECT_EQ(r.constraint.text, R"({"b":1,"a":2})");
       }},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "n"}})",
       [](Request r) { EXPECT_EQ(r.constraint.kind, ConstraintKind::kJsonObject); }},
      // Values that change nothing, unknown fields, and null wherever.
      {R"("audio": null, "suffix": "", "modalities": ["text"], "functions": [], "lora": [],
          "use_beam_search": false, "skip_special_tokens": true, "typical_p": 1.0, "mirostat": 0,
          "top_n_sigma": -1, "length_penalty": 1, "user": "u", "store": true, "unknown": {"a": 1},
          "stop": null, "n": null, "tools": null, "tool_choice": null, "logit_bias": null,
          "response_format": null, "speculation": null, "contract": null, "best_of": null)",
       {}},
  };
  return cases;
}

TEST(RequestFields, RightOnesAreReadByEveryApi) {
  for (const Api api : kAllApis) {
    for (const Right& right : RightFields()) {
      SCOPED_TRACE(right.fields);
      const AnswerRequest request = Accepted(api, right.fields);
      EXPECT_EQ(request.api, api);
      if (right.check) right.check(request);
    }
  }
}

struct Wrong {
  const char* fields;
  const char* param;
  const char* part = "";
};

constexpr Wrong kWrongFields[] = {
    {R"("model": 1)", "model", "a string, received 1"},
    {R"("stream": "true")", "stream", "true or false, received \"true\""},
    {R"("stream": 1)", "stream"},
    {R"("stream_options": [])", "stream_options", "an object, received a list of 0"},
    {R"("stream_options": {"include_usage": 1})", "stream_options.include_usage"},
    {R"("temperature": -0.1)", "temperature", "a number from 0 to 100, received -0.1"},
    {R"("temperature": 100.5)", "temperature"},
    {R"("temperature": 1e-6)", "temperature", "0 or a number from"},
    {R"("temperature": 1e300)", "temperature"},
    {R"("temperature": "0.5")", "temperature"},
    {R"("temperature": true)", "temperature"},
    {R"("temperature": {})", "temperature", "received an object of 0 fields"},
    {R"("top_p": 1.01)", "top_p"},
    {R"("top_p": -1)", "top_p"},
    {R"("min_p": 2)", "min_p"},
    {R"("top_k": -2)", "top_k"},
    {R"("top_k": 1.5)", "top_k"},
    {R"("top_k": 9223372036854775808)", "top_k"},
    {R"("top_k": 1e300)", "top_k"},
    {R"("repetition_penalty": 0)", "repetition_penalty", "above 0"},
    {R"("repetition_penalty": 1e-60)", "repetition_penalty", "above 0"},
    {R"("repeat_penalty": 101)", "repeat_penalty"},
    {R"("presence_penalty": 101)", "presence_penalty"},
    {R"("frequency_penalty": -101)", "frequency_penalty"},
    {R"("logit_bias": [])", "logit_bias", "an object"},
    {R"("logit_bias": {"1000": 1})", "logit_bias", "ids from 0 to 999"},
    {R"("logit_bias": {"-1": 1})", "logit_bias"},
    {R"("logit_bias": {"05": 1})", "logit_bias"},
    {R"("logit_bias": {"x": 1})", "logit_bias"},
    {R"("logit_bias": {"99999999999": 1})", "logit_bias"},
    {R"("logit_bias": {"5": "1"})", "logit_bias.5"},
    {R"("logit_bias": {"5": 1001})", "logit_bias.5"},
    {R"("seed": 1.5)", "seed"},
    {R"("seed": "1")", "seed"},
    {R"("seed": 18446744073709551616)", "seed"},
    {R"("min_tokens": -1)", "min_tokens"},
    {R"("bad_words": "a")", "bad_words", "a list of strings"},
    {R"("bad_words": [""])", "bad_words[0]", "1 to 256 bytes"},
    {R"("bad_words": ["a", 1])", "bad_words[1]"},
    {R"("banned_token_ids": [1000])", "banned_token_ids[0]"},
    {R"("banned_token_ids": [-1])", "banned_token_ids[0]"},
    {R"("banned_token_ids": ["1"])", "banned_token_ids[0]"},
    {R"("ignore_eos": 0)", "ignore_eos"},
    {R"("contract": "exactly")", "contract", "received \"exactly\""},
    {R"("contract": true)", "contract"},
    {R"("receipt": "yes")", "receipt"},
    {R"("logits_digest": 1)", "logits_digest"},
    {R"("token_details": [])", "token_details"},
    {R"("speculation": "wrong")", "speculation", "\"off\", \"mtp\", \"ngram\" or \"replay\""},
    {R"("speculation": true)", "speculation"},
    {R"("speculation": {"kind": "wrong"})", "speculation.kind"},
    {R"("speculation": {"draft_tokens": 0})", "speculation.draft_tokens"},
    {R"("speculation": {"draft_tokens": 16})", "speculation.draft_tokens"},
    {R"("speculation": {"draft_tokens": "many"})", "speculation.draft_tokens"},
    {R"("guided_json": 1)", "guided_json", "a JSON schema"},
    {R"("guided_json": "{")", "guided_json"},
    {R"("guided_json": [])", "guided_json"},
    {R"("guided_regex": "")", "guided_regex"},
    {R"("guided_regex": 1)", "guided_regex"},
    {R"("guided_choice": [])", "guided_choice", "at least one"},
    {R"("guided_choice": ["a", ""])", "guided_choice[1]"},
    {R"("guided_choice": "a")", "guided_choice"},
    {R"("guided_grammar": {})", "guided_grammar"},
    {R"("guided_regex": "a", "guided_choice": ["b"])", "guided_choice", "beside guided_regex"},
    {R"("structured_outputs": "a")", "structured_outputs"},
    {R"("structured_outputs": {"regex": 1})", "structured_outputs.regex"},
    {R"("structured_outputs": {"structural_tag": {}})", "structured_outputs.structural_tag"},
    {R"("structured_outputs": {"regex": "a", "json": {}})", "structured_outputs.regex", "beside"},
    {R"("response_format": "json_object")", "response_format"},
    {R"("response_format": {})", "response_format.type"},
    {R"("response_format": {"type": "xml"})", "response_format.type"},
    {R"("response_format": {"type": "json_schema"})", "response_format.schema"},
    {R"("response_format": {"type": "json_schema", "json_schema": "s"})",
     "response_format.json_schema"},
    {R"("response_format": {"type": "json_schema", "json_schema": {"schema": 5}})",
     "response_format.json_schema.schema"},
    {R"("suffix": "x")", "suffix"},
    {R"("audio": {"voice": "a"})", "audio"},
    {R"("modalities": ["text", "audio"])", "modalities"},
    {R"("prediction": {"type": "content"})", "prediction"},
    {R"("functions": [{}])", "functions", "try tools"},
    {R"("function_call": "auto")", "function_call", "try tool_choice"},
    {R"("stop_token_ids": [1])", "stop_token_ids"},
    {R"("skip_special_tokens": false)", "skip_special_tokens"},
    {R"("use_beam_search": true)", "use_beam_search"},
    {R"("prompt_logprobs": 0)", "prompt_logprobs"},
    {R"("grammar": "root ::= x")", "grammar", "guided_grammar"},
    {R"("mirostat": 2)", "mirostat"},
    {R"("typical_p": 0.5)", "typical_p"},
    {R"("previous_response_id": "resp_1")", "previous_response_id"},
    {R"("background": true)", "background"},
    {R"("mcp_servers": [{}])", "mcp_servers"},
    {R"("continue_final_message": true)", "continue_final_message"},
};

TEST(RequestFields, WrongOnesAreRefusedByNameByEveryApi) {
  for (const Api api : kAllApis) {
    for (const Wrong& wrong : kWrongFields) {
      SCOPED_TRACE(wrong.fields);
      ExpectRefused(api, wrong.fields, wrong.param, wrong.part);
    }
  }
}

TEST(RequestFields, ABodyIsAnObject) {
  for (const Api api : kAllApis) {
    for (const char* text : {"[]", "null", "1", "\"{}\"", "true"}) {
      const ParsedRequest parsed = ParseText(api, text);
      ASSERT_TRUE(std::holds_alternative<ApiError>(parsed)) << text;
      EXPECT_THAT(std::get<ApiError>(parsed).message,
                  ::testing::StartsWith("[body] expected a JSON object"));
      EXPECT_EQ(std::get<ApiError>(parsed).param, "");
    }
  }
}

TEST(RequestFields, UnsupportedValuesHaveTheirCode) {
  const ParsedRequest parsed =
      ParseText(Api::kChatCompletions, BodyWith(Api::kChatCompletions, R"("suffix": "x")"));
  EXPECT_EQ(std::get<ApiError>(parsed).code, "unsupported_value");
}

TEST(RequestFields, LongValuesAreCutInMessagesBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "\u00e9";
  for (const std::string& prefix : {std::string(), std::string("a")}) {
    const ParsedRequest parsed =
        ParseText(Api::kChatCompletions,
                  BodyWith(Api::kChatCompletions, R"("stream": ")" + prefix + text + "\""));
    const std::string& message = std::get<ApiError>(parsed).message;
    EXPECT_LT(message.size(), 200U);
    EXPECT_NO_THROW(Json(message).dump());  // UTF-8
    EXPECT_THAT(message, ::testing::HasSubstr("bytes"));
  }
}

}  // namespace
}  // namespace verbatim::serve::testing
