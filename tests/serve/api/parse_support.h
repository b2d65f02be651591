// Bodies of the four APIs, accepted or refused, for tests. Not the parsers themselves.
#ifndef VERBATIM_TESTS_SERVE_API_PARSE_SUPPORT_H_
#define VERBATIM_TESTS_SERVE_API_PARSE_SUPPORT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "serve/api/answer_request.h"

namespace verbatim::serve::testing {

inline constexpr Api kAllApis[] = {Api::kChatCompletions, Api::kCompletions, Api::kResponses,
                                   Api::kMessages};

inline ApiLimits TestLimits() {
  ApiLimits limits;
  limits.default_sampling = {.temperature = 0.6F, .top_k = 20, .top_p = 0.95F};
  limits.context = 4096;
  limits.vocab_size = 1000;
  return limits;
}

inline ParsedRequest ParseAs(Api api, const Json& body, const ApiLimits& limits = TestLimits()) {
  switch (api) {
    case Api::kChatCompletions:
      return ParseChatCompletions(body, limits);
    case Api::kCompletions:
      return ParseCompletions(body, limits);
    case Api::kResponses:
      return ParseResponses(body, limits);
    case Api::kMessages:
      return ParseMessages(body, limits);
  }
  return ApiError{};
}

inline ParsedRequest ParseText(Api api, std::string_view text) {
  auto body = ParseBody(text, TestLimits());
  if (auto* error = std::get_if<ApiError>(&body)) return *error;
  return ParseAs(api, std::get<Json>(body));
}

// The smallest body of an API, with further fields behind: they count, as the last of equal keys
// do.
inline std::string BodyWith(Api api, std::string_view fields) {
  std::string body;
  switch (api) {
    case Api::kChatCompletions:
      body = R"({"messages": [{"role": "user", "content": "Hi"}])";
      break;
    case Api::kCompletions:
      body = R"({"prompt": "Hi")";
      break;
    case Api::kResponses:
      body = R"({"input": "Hi")";
      break;
    case Api::kMessages:
      body = R"({"max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}])";
      break;
  }
  if (!fields.empty()) body += ", " + std::string(fields);
  return body + "}";
}

inline AnswerRequest Accepted(Api api, std::string_view fields) {
  ParsedRequest parsed = ParseText(api, BodyWith(api, fields));
  if (const auto* error = std::get_if<ApiError>(&parsed)) {
    ADD_FAILURE() << fields << ": " << error->message;
    return {};
  }
  return std::get<AnswerRequest>(std::move(parsed));
}

// Refused, with the house's form of message; `param` is the field and `part` a part of the message.
inline void ExpectRefused(Api api, std::string_view fields, std::string_view param,
                          std::string_view part = "") {
  const ParsedRequest parsed = ParseText(api, BodyWith(api, fields));
  const auto* error = std::get_if<ApiError>(&parsed);
  ASSERT_NE(error, nullptr) << fields << " was accepted";
  EXPECT_EQ(error->status, 400) << fields;
  EXPECT_EQ(error->param, param) << error->message;
  EXPECT_THAT(error->message, ::testing::StartsWith("["));
  EXPECT_THAT(error->message, ::testing::HasSubstr("] expected "));
  EXPECT_THAT(error->message, ::testing::HasSubstr(", received "));
  EXPECT_THAT(error->message, ::testing::HasSubstr(std::string(part)));
}

}  // namespace verbatim::serve::testing

#endif  // VERBATIM_TESTS_SERVE_API_PARSE_SUPPORT_H_
