// Splitting of command lines: verbs, spellings, repetition, and what is refused.
#include "apps/verbatim/command_line.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/verbatim/foreign_options.h"

namespace verbatim::cli {
namespace {

using Arguments = std::vector<std::string>;

std::string ErrorOf(const Arguments& arguments) {
  const auto line = ParseCommandLine(arguments);
  if (line.ok()) return "accepted";
  EXPECT_EQ(line.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(line.status().message().find('\n'), std::string::npos);
  return line.status().message();
}

TEST(CommandLineTest, GivenValuesAndDefaults) {
  const auto line = ParseCommandLine({"generate", "-m", "dir", "-n", "5", "-p", "text"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->verb().verb, Verb::kGenerate);
  EXPECT_EQ(line->Text("model"), "dir");
  EXPECT_EQ(line->Number("max-tokens"), 5);
  EXPECT_EQ(line->Text("prompt"), "text");
  EXPECT_FALSE(line->Given("draft-tokens"));
  EXPECT_EQ(line->Number("draft-tokens"), 3);
  EXPECT_EQ(line->Number("prefill-chunk"), 256);
  EXPECT_EQ(line->Text("spec"), "off");
  EXPECT_EQ(line->Text("contract"), "exact");
}

TEST(CommandLineTest, EverySpellingOfEveryOption) {
  for (const VerbSpec& verb : AllVerbs()) {
    for (const OptionSpec* option : OptionsOf(verb.verb)) {
      if (option->positional) continue;
      Arguments spellings = {"--" + std::string(option->name)};
      if (option->letter != 0) spellings.push_back(std::string("-") + option->letter);
      for (std::string_view alias : option->aliases) spellings.push_back("--" + std::string(alias));
      std::string value(option->default_value);
      if (value.empty() && option->kind == ValueKind::kWord) value = option->words.front().text;
      if (value.empty()) value = option->kind == ValueKind::kDecimal ? "0.5" : "7";
      for (const std::string& spelling : spellings) {
        Arguments arguments = {std::string(verb.name)};
        for (const OptionSpec* other : OptionsOf(verb.verb)) {
          if (!other->positional) continue;
          arguments.emplace_back(other->words.empty() ? "x" : other->words.front().text);
        }
        arguments.push_back(spelling);
        if (option->kind != ValueKind::kFlag) arguments.push_back(value);
        const auto line = ParseCommandLine(arguments);
        ASSERT_TRUE(line.ok()) << spelling << ": " << line.status().message();
        EXPECT_TRUE(line->Given(option->name)) << spelling;
        EXPECT_EQ(line->Count(option->name), 1) << spelling;
      }
    }
  }
}

TEST(CommandLineTest, LlamaCppSpellings) {
  const auto line = ParseCommandLine({"generate", "--spec-type", "draft-mtp", "--spec-draft-n-max",
                                      "7", "-c", "4096", "-t", "2", "--n-predict=9"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->Text("spec"), "mtp");
  EXPECT_EQ(line->Number("draft-tokens"), 7);
  EXPECT_EQ(line->Number("context"), 4096);
  EXPECT_EQ(line->Number("threads"), 2);
  EXPECT_EQ(line->Number("max-tokens"), 9);
}

TEST(CommandLineTest, ValuesMayLookLikeAnything) {
  for (const std::string text :
       {"-x", "--json", "[1, 2]", "generate", "++", "a,b", "", "{}", "\"q\"", "%%", "--stop="}) {
    const auto line = ParseCommandLine({"generate", "-p", text});
    if (text == "--stop=") continue;  // refused: CLI11 would misread it elsewhere
    ASSERT_TRUE(line.ok()) << text << ": " << line.status().message();
    EXPECT_EQ(line->Text("prompt"), text);
  }
}

TEST(CommandLineTest, RepeatedTextKeepsItsOrder) {
  const auto line = ParseCommandLine({"generate", "--stop", "b", "--stop", "a,c", "--stop=[x]"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->Texts("stop"), (Arguments{"b", "a,c", "[x]"}));
}

TEST(CommandLineTest, PositionalArguments) {
  const auto line = ParseCommandLine({"quantize", "in", "--bits", "8", "generate"});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->Text("IN"), "in");
  EXPECT_EQ(line->Text("OUT"), "generate");
  EXPECT_EQ(ErrorOf({"quantize", "in"}),
            "[OUT] expected verbatim quantize IN OUT [options], received no OUT; try verbatim "
            "quantize --help");
  EXPECT_NE(ErrorOf({"quantize", "a", "b", "c"}).find("received c"), std::string::npos);
}

TEST(CommandLineTest, OptionsForVerbs) {
  EXPECT_EQ(ParseCommandLine({"--version"})->verb().verb, Verb::kVersion);
  EXPECT_EQ(ParseCommandLine({"--help"})->verb().verb, Verb::kHelp);
  EXPECT_EQ(ParseCommandLine({"-h"})->verb().verb, Verb::kHelp);
  // The one verb of two words, and the same in one.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"bench", "serve"}, std::vector<std::string>{"bench-serve"}}) {
    std::vector<std::string> line = words;
    line.insert(line.end(), {"http://h", "--rate", "2"});
    const auto parsed = ParseCommandLine(line);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->verb().verb, Verb::kBenchServe);
    EXPECT_EQ(parsed->Text("URL"), "http://h");
  }
  EXPECT_EQ(ParseCommandLine({"bench", "-m", "serve"})->verb().verb, Verb::kBench);
  // Help comes before completeness.
  EXPECT_TRUE(ParseCommandLine({"quantize", "--help"}).ok());
}

TEST(CommandLineTest, RefusedByName) {
  EXPECT_EQ(ErrorOf({}),
            "[verb] expected generate, chat, score, quantize, inspect, demo, bench, parity, flips, "
            "receipt, serve, bench-serve, completion, "
            "version or help, received nothing; try verbatim help");
  EXPECT_NE(ErrorOf({"genrate"}).find("try verbatim generate"), std::string::npos);
  EXPECT_EQ(ErrorOf({"generate", "--thread", "2"}),
            "[--thread] expected an option of verbatim generate, received one that it does not "
            "have; try --threads");
  EXPECT_EQ(ErrorOf({"score", "--spec", "mtp"}).find("[--spec]"), 0u);
  EXPECT_EQ(ErrorOf({"score", "--temperature=1"}).find("[--temperature]"), 0u);
  EXPECT_EQ(ErrorOf({"generate", "-Z"}).find("[-Z]"), 0u);
  EXPECT_NE(ErrorOf({"generate", "stray"}).find("received stray"), std::string::npos);
}

TEST(CommandLineTest, OneDashMeansOneLetter) {
  EXPECT_EQ(ErrorOf({"generate", "-hf", "Org/Name", "-p", "x"}),
            "[-hf] expected the model id after -m, received an option of other programs; try -m "
            "ORG/NAME");
  EXPECT_EQ(ErrorOf({"generate", "-vq"}),
            "[-vq] expected one letter after a single dash, received -vq; try separate options, or "
            "two dashes; verbatim generate --help lists them");
  for (const char* token : {"-ngl", "-ctk", "-ctv", "-md", "-ub", "-mfoo", "-n5", "-qh", "-fa"}) {
    EXPECT_TRUE(ErrorOf({"generate", token, "99"}).starts_with(fmt::format("[{}] ", token)))
        << ErrorOf({"generate", token, "99"});
  }
  EXPECT_EQ(ErrorOf({"generate", "-n=5"}),
            "[-n] expected its value as the next argument, received -n=5; try -n 5");
  // A value is not an option.
  EXPECT_EQ(ParseCommandLine({"generate", "-p", "-hf", "--stop", "--temp"})->Text("prompt"), "-hf");
}

TEST(CommandLineTest, OptionsOfOtherProgramsSayWhatToDoInstead) {
  EXPECT_NE(ErrorOf({"generate", "--mirostat", "1"}).find("--temp"), std::string::npos);
  EXPECT_NE(ErrorOf({"generate", "-ctk", "f16"}).find("--kv-type"), std::string::npos);
  EXPECT_NE(ErrorOf({"generate", "-md", "x"}).find("--draft-model"), std::string::npos);
  EXPECT_NE(ErrorOf({"generate", "-ub", "1"}).find("--prefill-chunk"), std::string::npos);
  EXPECT_NE(ErrorOf({"generate", "-ngl", "9"}).find("CPU"), std::string::npos);
  for (const ForeignOption& foreign : AllForeignOptions()) {
    for (const std::string_view spelling : foreign.spellings) {
      for (const OptionSpec& option : AllOptions()) {
        // What only the server has is another program's everywhere else.
        if (option.positional || option.verbs == std::vector<Verb>{Verb::kServe}) continue;
        EXPECT_NE(spelling.substr(2), option.name);
        EXPECT_FALSE(spelling.size() == 2 && spelling[1] == option.letter) << spelling;
        EXPECT_EQ(std::ranges::count(option.aliases, spelling.substr(2)), 0) << spelling;
      }
    }
  }
}

TEST(CommandLineTest, SuggestionsAreNearAndNeverHelp) {
  for (const char* far : {"--help2", "--halp", "--fx", "--a", "--cats"}) {
    EXPECT_EQ(ErrorOf({"generate", far, "x"}).find("try --"), std::string::npos) << far;
  }
  EXPECT_NE(ErrorOf({"generate", "--stopp", "x"}).find("try --stop"), std::string::npos);
  EXPECT_NE(ErrorOf({"generate", "--jsn"}).find("try --json"), std::string::npos);
}

TEST(CommandLineTest, TheModelAsPositionalOrOption) {
  EXPECT_EQ(ParseCommandLine({"inspect", "-m", "dir"})->Text("model"), "dir");
  EXPECT_EQ(ParseCommandLine({"inspect", "dir"})->Text("MODEL"), "dir");
  EXPECT_EQ(ErrorOf({"inspect"}).find("[MODEL]"), 0u);
  EXPECT_NE(ErrorOf({"generate", "dir", "-p", "x"}).find("received dir; try -m dir"),
            std::string::npos);
  EXPECT_EQ(ErrorOf({"generate", "-m", "dir", "stray"}).find("-m stray"), std::string::npos);
  EXPECT_EQ(ParseCommandLine({"quantize", "in", "out", "--draft-model", "d"})->Text("draft-model"),
            "d");
}

TEST(CommandLineTest, ContextEndsWithTheRopeTables) {
  EXPECT_TRUE(ParseCommandLine({"generate", "-c", "1048576"}).ok());
  EXPECT_NE(ErrorOf({"generate", "-c", "1048577"}).find("2 to 1048576"), std::string::npos);
}

TEST(CommandLineTest, MissingAndExtraValues) {
  EXPECT_EQ(ErrorOf({"generate", "--threads"}),
            "[--threads] expected a value N|auto, received nothing; try verbatim generate --help");
  EXPECT_EQ(ErrorOf({"generate", "--json=1"}),
            "[--json] expected no value, received one; try verbatim generate --help");
  EXPECT_EQ(ErrorOf({"generate", "--stop=", "--json"}),
            "[--stop] expected a value after =, received nothing; try verbatim generate --help");
  EXPECT_EQ(ErrorOf({"generate", "-n", "1", "-n", "2"}),
            "[--max-tokens] expected one value, received 2 of them; try verbatim generate --help");
}

}  // namespace
}  // namespace verbatim::cli
