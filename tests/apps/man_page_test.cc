// Markdown to man(7), and what completions offer. That the page has no faults is
// tests/install/test_install.py.
#include "apps/verbatim/man_page.h"

#include <gtest/gtest.h>

#include "apps/verbatim/completion.h"

namespace verbatim::cli {
namespace {

TEST(ManPageTest, Paragraphs) {
  EXPECT_EQ(
      RoffFromMarkdown("# Heading\n<!-- comment -->\none\ntwo `a-b` and **c**\n\n[text](link)\n"),
      ".PP\none two \\fBa\\-b\\fR and \\fBc\\fR\n.PP\ntext\n");
}

TEST(ManPageTest, ListsTablesAndExamples) {
  EXPECT_EQ(RoffFromMarkdown("- one\n  more\n- two\n"),
            ".IP \\(bu 2\none more\n.IP \\(bu 2\ntwo\n");
  EXPECT_EQ(RoffFromMarkdown("| k | v |\n|---|---|\n| `a` | 1 \\| 2 |\n"),
            ".TP\n\\fBa\\fR\n1 | 2\n");
  EXPECT_EQ(RoffFromMarkdown("    x -y\nafter\n"),
            ".PP\n.nf\n.RS 4\nx \\-y\n.RE\n.fi\n.PP\nafter\n");
}

TEST(ManPageTest, TextIsNeverARequest) {
  EXPECT_EQ(RoffFromMarkdown(".so file\n"), ".PP\n\\&.so file\n");
  EXPECT_EQ(RoffFromMarkdown("    'quoted \\n\n"), ".PP\n.nf\n.RS 4\n\\&'quoted \\en\n.RE\n.fi\n");
}

TEST(CompletionTest, OffersWordsNumbersAndPaths) {
  const OptionSpec spec = {.name = "spec",
                           .kind = ValueKind::kWord,
                           .value_name = "off|replay:FILE",
                           .words = {{"off", "off"}, {"replay", "replay", 0, true}, {"no", "off"}}};
  EXPECT_EQ(OfferFor(spec).words, (std::vector<std::string>{"off", "replay:"}));
  EXPECT_TRUE(OfferFor(spec).takes_path_behind_a_word);
  EXPECT_EQ(OfferFor(spec).path, PathKind::kNone);
  EXPECT_EQ(OfferFor({.name = "bits", .kind = ValueKind::kInteger, .only = {2, 4}}).words,
            (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(OfferFor({.name = "model", .value_name = "DIR|ID"}).path, PathKind::kFolder);
  EXPECT_EQ(OfferFor({.name = "log", .value_name = "N|FILE"}).path, PathKind::kFile);
  EXPECT_EQ(OfferFor({.name = "text", .value_name = "PROFILE"}).path, PathKind::kNone);
}

TEST(CompletionTest, EveryShellKnowsEveryOption) {
  for (const std::string& script : {BashCompletion(), ZshCompletion(), FishCompletion()}) {
    for (const OptionSpec& option : AllOptions()) {
      if (option.positional) continue;
      EXPECT_NE(script.find(option.name), std::string::npos) << option.name;
    }
  }
}

}  // namespace
}  // namespace verbatim::cli
