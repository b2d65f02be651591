// The conversation's file: what is written is read back, and what is wrong is named.
#include "apps/verbatim/chat_session.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace verbatim::cli {
namespace {

ChatSession Example() {
  ChatSession session;
  session.set_system("Be brief.");
  session.Add(
      {.user = "Hi \"you\"\n", .answer = {.content = "Hello.", .reasoning = "A greeting."}});
  session.Add({.user = "\xC3\xA9?", .answer = {.content = "Y", .interrupted = true}});
  return session;
}

TEST(ChatSessionTest, TemplateMessagesHaveReasoningButNoMarks) {
  EXPECT_EQ(nlohmann::ordered_json::parse(Example().TemplateMessages("Bye")).dump(),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hi \"you\"\n"},)"
            R"({"role":"assistant","content":"Hello.","reasoning_content":"A greeting."},)"
            "{\"role\":\"user\",\"content\":\"\xC3\xA9?\"},"
            R"({"role":"assistant","content":"Y"},{"role":"user","content":"Bye"}])");
  EXPECT_EQ(ChatSession().TemplateMessages("x"), R"([{"role": "user", "content": "x"}])");
}

TEST(ChatSessionTest, RoundTrip) {
  for (const ChatSession& session : {Example(), ChatSession()}) {
    std::string model;
    const std::string json = session.ToJson("org/name");
    const auto read = ChatSession::FromJson(json, "file", &model);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(model, "org/name");
    EXPECT_EQ(read->ToJson(model), json);
  }
  ChatSession cleared = Example();
  cleared.Clear();
  EXPECT_EQ(cleared.system(), "Be brief.");
  EXPECT_TRUE(cleared.turns().empty());
}

TEST(ChatSessionTest, WhatIsWrongIsNamed) {
  const std::string head = R"({"format":"verbatim-chat","version":1,"model":"m","messages":)";
  const std::string user = R"({"role":"user","content":"a"})";
  const std::string answer = R"({"role":"assistant","content":"b"})";
  const std::pair<std::string, const char*> cases[] = {
      {"", "[file]"},
      {"not json", "[file]"},
      {"[]", "an object"},
      {"{}", "format"},
      {R"({"format":"else","version":1,"model":"m","messages":[]})", "expected verbatim-chat"},
      {R"({"format":"verbatim-chat","version":2,"model":"m","messages":[]})", "expected 1"},
      {R"({"format":"verbatim-chat","version":1,"messages":[]})", "model"},
      {R"({"format":"verbatim-chat","version":1,"model":"m"})", "messages"},
      {head + "{}}", "messages"},
      {head + "[7]}", "messages[0]"},
      {head + "[" + answer + "]}", "messages[0]"},
      {head + "[" + user + "]}", "the end"},
      {head + "[" + user + "," + user + "]}", "messages[1]"},
      {head + "[" + user + "," + answer + R"(,{"role":"system","content":"s"}]})", "messages[2]"},
      {head + R"([{"role":"user"},)" + answer + "]}", "messages[0].content"},
      {head + R"([{"role":"user","content":5},)" + answer + "]}", "messages[0].content"},
      {head + "[" + user + R"(,{"role":"assistant","content":"b","interrupted":1}]})",
       "messages[1].interrupted"},
      {head + "[" + user + R"(,{"role":"assistant","content":"b","reasoning_content":[]}]})",
       "messages[1].reasoning_content"},
      {head + "\"\xFF\"}", "[file"},
  };
  for (const auto& [text, expected] : cases) {
    std::string model;
    const auto read = ChatSession::FromJson(text, "file", &model);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.status().message().find(expected), std::string::npos)
        << text << ": " << read.status().message();
  }
}

}  // namespace
}  // namespace verbatim::cli
