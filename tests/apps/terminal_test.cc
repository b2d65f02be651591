// The order of colour rules (users_expect.md 2.5). Real terminals are in tests/cli.
#include "apps/verbatim/terminal.h"

#include <gtest/gtest.h>

#include <map>

namespace verbatim::cli {
namespace {

bool Color(std::string_view choice, bool is_terminal,
           std::map<std::string, std::string> variables) {
  return UseColor(choice, is_terminal, [&](const char* name) { return variables[name]; });
}

TEST(UseColorTest, OptionBeatsEverything) {
  EXPECT_TRUE(Color("always", false, {{"NO_COLOR", "1"}}));
  EXPECT_FALSE(Color("never", true, {{"FORCE_COLOR", "1"}}));
}

TEST(UseColorTest, NoColorBeatsForce) {
  EXPECT_FALSE(Color("auto", true, {{"NO_COLOR", "0"}, {"FORCE_COLOR", "1"}}));
  EXPECT_TRUE(Color("auto", true, {{"NO_COLOR", ""}}));
}

TEST(UseColorTest, ForceBeatsTheTerminal) {
  EXPECT_TRUE(Color("auto", false, {{"CLICOLOR_FORCE", "1"}}));
  EXPECT_TRUE(Color("auto", false, {{"FORCE_COLOR", "1"}, {"TERM", "dumb"}}));
  EXPECT_FALSE(Color("auto", false, {{"CLICOLOR_FORCE", "0"}}));
}

TEST(UseColorTest, TerminalThatIsNotDumb) {
  EXPECT_TRUE(Color("auto", true, {{"TERM", "xterm"}}));
  EXPECT_FALSE(Color("auto", true, {{"TERM", "dumb"}}));
  EXPECT_FALSE(Color("auto", false, {{"TERM", "xterm"}}));
}

}  // namespace
}  // namespace verbatim::cli
