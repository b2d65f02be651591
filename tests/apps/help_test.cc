// Help names every option and stays within its columns. That docs/cli.md is current is
// tests/cli/test_documents.py.
#include "apps/verbatim/help.h"

#include <gtest/gtest.h>

#include <sstream>

namespace verbatim::cli {
namespace {

TEST(HelpTest, NamesEveryOptionAliasDefaultAndExample) {
  for (const VerbSpec& verb : AllVerbs()) {
    const std::string help = VerbHelp(verb.verb);
    const std::string table = MarkdownTable(verb.verb);
    for (const OptionSpec* option : OptionsOf(verb.verb)) {
      const std::string name =
          option->positional ? std::string(option->name) : "--" + std::string(option->name);
      EXPECT_NE(help.find(name), std::string::npos) << name;
      EXPECT_NE(table.find(name), std::string::npos) << name;
      for (std::string_view alias : option->aliases) {
        EXPECT_NE(help.find("--" + std::string(alias)), std::string::npos) << alias;
        EXPECT_NE(table.find("--" + std::string(alias)), std::string::npos) << alias;
      }
    }
    for (std::string_view example : verb.examples) {
      EXPECT_NE(help.find("verbatim " + std::string(example)), std::string::npos) << example;
    }
    EXPECT_NE(ProgramHelp().find(verb.name), std::string::npos);
  }
}

TEST(HelpTest, ColumnsOfTheNarrowestTerminal) {
  for (const VerbSpec& verb : AllVerbs()) {
    std::istringstream lines(VerbHelp(verb.verb));
    for (std::string line; std::getline(lines, line) && line != "Examples:";) {
      EXPECT_LE(line.size(), 80u) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
  }
}

TEST(HelpTest, TablesHaveThreeCellsInEveryRow) {
  for (const VerbSpec& verb : AllVerbs()) {
    std::istringstream lines(MarkdownTable(verb.verb));
    for (std::string line; std::getline(lines, line);) {
      int bars = 0;
      for (size_t i = 0; i < line.size(); ++i)
        bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
      EXPECT_EQ(bars, 4) << line;
    }
  }
}

}  // namespace
}  // namespace verbatim::cli
