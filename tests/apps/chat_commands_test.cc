// Commands of chat: parsed, or refused in one sentence.
#include "apps/verbatim/chat_commands.h"

#include <gtest/gtest.h>

namespace verbatim::cli {
namespace {

std::string Refusal(std::string_view line) {
  const auto command = ParseChatCommand(line);
  EXPECT_FALSE(command.ok()) << line;
  return command.ok() ? "" : command.status().message();
}

TEST(ChatCommandsTest, EveryCommandIsParsedAndListed) {
  const std::pair<const char*, ChatCommandKind> all[] = {
      {"/help", ChatCommandKind::kHelp},          {"/reset", ChatCommandKind::kReset},
      {"/system You.", ChatCommandKind::kSystem}, {"/save a b.json", ChatCommandKind::kSave},
      {"/load x", ChatCommandKind::kLoad},        {"/stats", ChatCommandKind::kStats},
      {"/spec mtp 3", ChatCommandKind::kSpec},    {"/exit", ChatCommandKind::kExit}};
  for (const auto& [line, kind] : all) {
    const auto command = ParseChatCommand(line);
    ASSERT_TRUE(command.ok()) << command.status().message();
    EXPECT_EQ(command->kind, kind);
    const std::string_view text = line;
    EXPECT_NE(ChatHelp().find(text.substr(0, text.find(' '))), std::string::npos);
  }
  EXPECT_EQ(ParseChatCommand("/save  a b.json ")->argument, "a b.json");
  EXPECT_EQ(ParseChatCommand("/system one\ntwo")->argument, "one\ntwo");
  EXPECT_EQ(ParseChatCommand("/quit")->kind, ChatCommandKind::kExit);
}

TEST(ChatCommandsTest, WhatIsWrongIsOneSentence) {
  EXPECT_EQ(Refusal("/usr/bin is full"),
            "[chat] expected a command, received /usr/bin; try /help, or a space in front of a "
            "message that begins with a slash");
  EXPECT_EQ(Refusal("/save"), "[/save] expected FILE behind it, received nothing; try /save FILE");
  EXPECT_EQ(Refusal("/reset now"), "[/reset] expected nothing behind it, received now; try /reset");
  EXPECT_NE(Refusal("/").find("received /;"), std::string::npos);
  EXPECT_EQ(Refusal("/" + std::string(5000, 'x')).size(),
            Refusal("/" + std::string(39, 'x')).size());
}

TEST(ChatCommandsTest, SpecArguments) {
  const SpeculationOptions now = {.kind = SpeculationKind::kMtp, .draft_tokens = 5};
  EXPECT_EQ(ParseSpecArgument("off", now)->kind, SpeculationKind::kOff);
  EXPECT_EQ(ParseSpecArgument("ngram", now)->draft_tokens, 5);
  EXPECT_EQ(ParseSpecArgument("mtp  2", now)->draft_tokens, 2);
  EXPECT_TRUE(ParseSpecArgument("mtp auto", now)->automatic);
  EXPECT_EQ(ParseSpecArgument("mtp auto", now)->draft_tokens, kMaxDraftTokens);
  EXPECT_FALSE(ParseSpecArgument("mtp 3", *ParseSpecArgument("mtp auto", now))->automatic);
  for (const char* bad : {"", "mpt", "mtp 0", "mtp 16", "mtp 3x", "off 3", "ngram 3 4"}) {
    EXPECT_FALSE(ParseSpecArgument(bad, now).ok()) << bad;
  }
  EXPECT_EQ(ParseSpecArgument("mtp 16", now).status().message(),
            "[/spec] expected 1 to 15 or auto behind mtp, received 16; try /spec mtp 3");
  EXPECT_EQ(SpeculationText(now), "mtp, 5 drafts");
  EXPECT_EQ(SpeculationText({}), "off");
}

}  // namespace
}  // namespace verbatim::cli
