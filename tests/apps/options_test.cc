// The option table itself: what has to hold for every entry. Not parsing.
#include "apps/verbatim/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "apps/verbatim/option_value.h"

namespace verbatim::cli {
namespace {

TEST(OptionsTest, VerbsStandInTheOrderOfTheirEnumeration) {
  for (const VerbSpec& verb : AllVerbs()) {
    EXPECT_EQ(&SpecOf(verb.verb), &verb) << verb.name;
    EXPECT_EQ(FindVerb(verb.name), &verb);
    EXPECT_FALSE(verb.examples.empty()) << verb.name;
  }
  EXPECT_EQ(FindVerb("server"), nullptr);
}

TEST(OptionsTest, NoVerbHasTheSameSpellingTwice) {
  for (const VerbSpec& verb : AllVerbs()) {
    std::set<std::string> spellings;
    for (const OptionSpec* option : OptionsOf(verb.verb)) {
      EXPECT_TRUE(spellings.emplace(option->name).second) << option->name;
      if (option->letter != 0) {
        EXPECT_TRUE(spellings.emplace(1, option->letter).second) << option->name;
      }
      for (std::string_view alias : option->aliases) {
        EXPECT_TRUE(spellings.emplace(alias).second) << alias;
      }
    }
  }
}

TEST(OptionsTest, EveryEntryIsComplete) {
  for (const OptionSpec& option : AllOptions()) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_NE(option.help.back(), '.') << option.name;
    EXPECT_FALSE(option.section.empty()) << option.name;
    EXPECT_FALSE(option.verbs.empty()) << option.name;
    EXPECT_EQ(option.kind == ValueKind::kFlag, option.value_name.empty()) << option.name;
    EXPECT_EQ(option.kind == ValueKind::kInteger, option.min < option.max) << option.name;
    EXPECT_TRUE(option.kind != ValueKind::kWord || !option.words.empty()) << option.name;
  }
}

TEST(OptionsTest, EveryDefaultIsAValidValue) {
  for (const OptionSpec& option : AllOptions()) {
    if (option.default_value.empty()) continue;
    const auto value = ParseOptionValue(option, option.default_value, SpecOf(option.verbs.front()));
    EXPECT_TRUE(value.ok()) << option.name << ": " << value.status().message();
  }
}

// The issue lists them; llama.cpp's spellings are the aliases.
TEST(OptionsTest, GenerateHasTheOptionsOfTheIssue) {
  const auto options = OptionsOf(Verb::kGenerate);
  for (std::string_view name : {"model", "prompt", "file", "ids", "max-tokens", "chat", "spec",
                                "draft-tokens", "draft-model", "threads", "prefill-chunk",
                                "context", "kv-type", "stop", "ignore-eos", "json", "contract"}) {
    EXPECT_TRUE(std::ranges::any_of(options, [&](const auto* o) { return o->name == name; }))
        << name;
  }
}

}  // namespace
}  // namespace verbatim::cli
