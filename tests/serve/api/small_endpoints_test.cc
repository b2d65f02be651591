// Bodies of the small endpoints, and errors as the APIs write them.
#include "serve/api/small_endpoints.h"

#include "tests/serve/api/parse_support.h"

namespace verbatim::serve::testing {
namespace {

template <typename T>
void ExpectError(const std::variant<T, ApiError>& parsed, std::string_view param) {
  ASSERT_TRUE(std::holds_alternative<ApiError>(parsed)) << param;
  EXPECT_EQ(std::get<ApiError>(parsed).param, param);
}

TEST(SmallEndpoints, Tokenize) {
  const auto parse = [](std::string_view text) {
    return ParseTokenize(Json::parse(text), TestLimits());
  };
  const auto request = std::get<TokenizeRequest>(
      parse(R"({"content": "a", "add_special_tokens": false, "model": "m"})"));
  EXPECT_EQ(request.content, "a");
  EXPECT_EQ(request.add_special_tokens, false);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(std::get<TokenizeRequest>(parse(R"({"prompt": "b"})")).content, "b");
  EXPECT_EQ(std::get<TokenizeRequest>(parse(R"({"content": ""})")).content, "");
  ExpectError(parse("[]"), "");
  ExpectError(parse("{}"), "content");
  ExpectError(parse(R"({"content": 1})"), "content");
  ExpectError(parse(R"({"prompt": []})"), "prompt");
  ExpectError(parse(R"({"content": "a", "add_special_tokens": 1})"), "add_special_tokens");
  EXPECT_EQ(TokenizeJson(std::vector<int32_t>{1, 2}), R"({"tokens":[1,2]})");
  EXPECT_EQ(TokenizeJson({}), R"({"tokens":[]})");
}

TEST(SmallEndpoints, Detokenize) {
  const auto parse = [](std::string_view text) {
    return ParseDetokenize(Json::parse(text), TestLimits());
  };
  EXPECT_THAT(std::get<DetokenizeRequest>(parse(R"({"tokens": [0, 999]})")).tokens,
              ::testing::ElementsAre(0, 999));
  EXPECT_TRUE(std::get<DetokenizeRequest>(parse(R"({"tokens": []})")).tokens.empty());
  ExpectError(parse("1"), "");
  ExpectError(parse("{}"), "tokens");
  ExpectError(parse(R"({"tokens": "a"})"), "tokens");
  ExpectError(parse(R"({"tokens": [1, 1000]})"), "tokens[1]");
  ExpectError(parse(R"({"tokens": [-1]})"), "tokens[0]");
  EXPECT_EQ(DetokenizeJson("a\xff"), "{\"content\":\"a\uFFFD\"}");
}

TEST(SmallEndpoints, ApplyTemplate) {
  const auto parsed =
      ParseApplyTemplate(Json::parse(R"({"messages": [{"role": "user", "content": "a"}],
                      "add_generation_prompt": false})"),
                         TestLimits());
  EXPECT_FALSE(std::get<AnswerRequest>(parsed).add_generation_prompt);
  EXPECT_EQ(ApplyTemplateJson("<a>\n"), R"({"prompt":"<a>\n"})");
}

TEST(ApiErrors, StatusesHaveHttpCodes) {
  const auto http = [](StatusCode code) { return ToApiError(Status(code, "m")).status; };
  EXPECT_EQ(http(StatusCode::kInvalidArgument), 400);
  EXPECT_EQ(http(StatusCode::kUnsupported), 400);
  EXPECT_EQ(http(StatusCode::kNotFound), 404);
  EXPECT_EQ(http(StatusCode::kResourceExhausted), 503);
  EXPECT_EQ(http(StatusCode::kInternal), 500);
  EXPECT_EQ(http(StatusCode::kCorrupt), 500);
  EXPECT_GT(ToApiError(Status(StatusCode::kResourceExhausted, "m")).retry_after_s, 0);
  EXPECT_EQ(ToApiError(Status(StatusCode::kInvalidArgument, "m"), "p").param, "p");
}

TEST(ApiErrors, HaveTheShapesOfTheApis) {
  ApiError error = {.param = "n", .message = "[n] expected \xff"};
  EXPECT_EQ(ErrorJson(error, Api::kChatCompletions, "r"),
            "{\"error\":{\"message\":\"[n] expected \uFFFD\",\"type\":\"invalid_request_error\","
            "\"param\":\"n\",\"code\":null}}");
  error = {.status = 404, .code = "model_not_found", .message = "m"};
  EXPECT_EQ(ErrorJson(error, Api::kResponses, "r"),
            R"({"error":{"message":"m","type":"invalid_request_error","param":null,)"
            R"("code":"model_not_found"}})");
  const std::pair<int, const char*> types[] = {{400, "invalid_request_error"},
                                               {401, "authentication_error"},
                                               {403, "permission_error"},
                                               {404, "not_found_error"},
                                               {413, "request_too_large"},
                                               {429, "rate_limit_error"},
                                               {500, "api_error"},
                                               {503, "overloaded_error"}};
  for (const auto& [status, type] : types) {
    error.status = status;
    EXPECT_EQ(ErrorJson(error, Api::kMessages, "req_1"),
              std::string(R"({"type":"error","error":{"type":")") + type +
                  R"(","message":"m"},"request_id":"req_1"})");
  }
}

}  // namespace
}  // namespace verbatim::serve::testing
