// Every option of every verb with every bad value of its kind: exit code 2 and one sentence that
// names the option. The values come from the option table, so a new option is tried at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "apps/verbatim/option_value.h"
#include "apps/verbatim/options.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {
namespace {

using Values = std::vector<std::string>;

// Neither whole numbers nor decimals. Units are no part of either, and are never cut off.
const Values kNoNumbers = {"",     " ",       "x",
                           "1x",   "1 ",      " 1",
                           "+1",   "0x10",    "1k",
                           "2K",   "1.5G",    "4KiB",
                           "50%",  "1_0",     "1,0",
                           "1,2",  "-",       "--1",
                           "1..2", "1-2",     "nan",
                           "NaN",  "inf",     "-inf",
                           "1e",   "e1",      "½",
                           "٣",    "１",      "1\n",
                           "1;2",  "0b1",     "true",
                           "null", "None",    "1e999",
                           "1/2",  "\x1b[0m", "99999999999999999999k"};
const Values kNoIntegers = {
    "1.0", "1.5", "1e3", ".5", "99999999999999999999", "-99999999999999999999"};

bool IsWord(const OptionSpec& option, const std::string& text) {
  return std::ranges::any_of(option.words, [&](const Word& word) { return word.text == text; });
}

Values BadIntegers(const OptionSpec& option) {
  Values bad = kNoNumbers;
  bad.insert(bad.end(), kNoIntegers.begin(), kNoIntegers.end());
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (option.min > kLeast) {
    bad.push_back(std::to_string(option.min - 1));
    bad.push_back(std::to_string(kLeast));
  }
  if (option.max < kMost) {
    bad.push_back(std::to_string(option.max + 1));
    bad.push_back(std::to_string(kMost));
  }
  for (int64_t value = option.min; !option.only.empty() && value <= option.max; ++value) {
    if (std::ranges::count(option.only, value) == 0) bad.push_back(std::to_string(value));
  }
  return bad;
}

Values BadDecimals(const OptionSpec& option) {
  Values bad = kNoNumbers;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::nextafter(option.least, -kInfinity),
                             std::nextafter(option.most, kInfinity), -1e300, 1e300}) {
    bad.push_back(fmt::format("{}", value));
  }
  return bad;
}

Values BadWords(const OptionSpec& option) {
  Values bad = {"", " ", "x", "1", "-1", "nan"};
  for (const Word& word : option.words) {
    const std::string text(word.text);
    std::string upper = text;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    for (const std::string& near : {upper, text + "x", text + " ", " " + text, text + "," + text,
                                    text.substr(1), text + (word.takes_path ? ":" : ":x")}) {
      bad.push_back(near);
    }
    if (word.takes_path) bad.push_back(text);
  }
  std::erase_if(bad, [&](const std::string& text) {
    const bool bare_path = std::ranges::any_of(
        option.words, [&](const Word& word) { return word.takes_path && word.text == text; });
    return IsWord(option, text) && !bare_path;
  });
  return bad;
}

// Texts with a grammar of their own; the others take any text but the empty one.
const std::map<std::string_view, Values> kBadTexts = {
    {"ids", {"x", "1,,2", "1,", "-1", "1.5", "[1", "1]", "4294967296", "1k", "0x1"}},
    {"ban-ids", {"x", "1,,2", "1,", "-1", "1.5", "[1", "1]", "4294967296", "1k"}},
    {"logit-bias",
     {"x", "1", ":", "1:", ":1", "-1:1", "1:x", "1:1x", "1:nan", "1:inf", "1:1e999", "1:1001",
      "1:-1001", "1.5:1", "4294967296:1", "1:1k", "1: 1", "1:1\n"}},
    {"override", {"x", "=4", "x=7", "x=4/48", "x=", "x=4/", "x=4.0", "x=4k", "x=none/64"}},
    {"VERB", {"x", "GENERATE", "generate,score"}},
    {"widths", {"x", "0", "1-", "-1", "2-1", "1,,2", "1,", "1.5", "1-2-3", "1-65", "999999999999"}},
    {"ops", {"x", "linear,", ",linear", "linear,x", "LINEAR"}},
    {"baseline",
     {"x", "ftp://localhost", "http://", "http://localhost:99999", "http://localhost:x"}},
    {"max-body", {"x", "-1", "1.5", "1QB", "1 KiB B", "nan", "99999999TiB"}},
    {"kv-memory", {"x", "-1", "0.5", "1e400", "GiB", "1 GB GB"}},
    {"prefix-cache-memory", {"x", "-1", "0.5", "1e400", "MiB"}},
    {"candidate", {"x", "ftp://localhost", "http://", "http://localhost:99999"}},
    {"URL", {"x", "ftp://localhost", "http://", "http://localhost:99999"}},
    {"against", {"x", "ftp://localhost", "http://", "http://localhost:99999"}},
    {"arm", {"x", "=1"}},
    {"set", {"x", "=1"}},
    {"slo", {"x", "ttft", "ttft:", "ttft:0", "ttft:-1", "ttft:1,", "ttft:1,ttft:2", "itl:3"}},
};
const std::set<std::string_view> kAnyText = {"model",
                                             "draft-model",
                                             "prompt",
                                             "system",
                                             "file",
                                             "stop",
                                             "ban",
                                             "logits",
                                             "IN",
                                             "OUT",
                                             "MODEL",
                                             "FILE",
                                             "write",
                                             "html",
                                             "host",
                                             "unix-socket",
                                             "api-key-file",
                                             "cors-origin",
                                             "config",
                                             "served-model-name",
                                             "chat-template",
                                             "log-file",
                                             "json-schema-file",
                                             "json-schema",
                                             "regex",
                                             "grammar-file",
                                             "receipt",
                                             "prompts",
                                             "model-name",
                                             "api-key"};

Values BadValues(const OptionSpec& option) {
  switch (option.kind) {
    case ValueKind::kInteger:
      return BadIntegers(option);
    case ValueKind::kDecimal:
      return BadDecimals(option);
    case ValueKind::kWord:
      return BadWords(option);
    case ValueKind::kText:
      break;
    case ValueKind::kFlag:
      return {};
  }
  const auto listed = kBadTexts.find(option.name);
  Values bad = listed == kBadTexts.end() ? Values() : listed->second;
  EXPECT_TRUE(listed != kBadTexts.end() || kAnyText.contains(option.name))
      << option.name << ": a new text option; list bad values, or that any text will do";
  if (option.name != "prompt" && option.name != "system") bad.emplace_back("");
  return bad;
}

std::string GoodValue(const OptionSpec& option) {
  if (!option.default_value.empty()) return std::string(option.default_value);
  if (option.kind == ValueKind::kInteger) return std::to_string(option.min);
  if (option.kind == ValueKind::kDecimal) return fmt::format("{}", option.least);
  if (option.kind == ValueKind::kWord) return std::string(option.words.front().text);
  return "1";
}

class BadValuesTest : public ::testing::Test {
 protected:
  // The sentence's place has `name` in it; empty: it may name anything.
  void ExpectRefused(const Values& arguments, std::string_view name) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const int exit_code = RunProgram(arguments);
    const std::string out = ::testing::internal::GetCapturedStdout();
    const std::string error = ::testing::internal::GetCapturedStderr();
    std::string line;
    for (const std::string& argument : arguments) line += " '" + argument + "'";
    EXPECT_EQ(exit_code, kExitUsage) << line << ": " << error;
    EXPECT_EQ(out, "") << line;
    // "[--threads]", or of a text "[override x]".
    const std::string where = error.substr(0, error.find(']'));
    EXPECT_TRUE(where.starts_with("[") && where.find(name) != where.npos) << line << ": " << error;
    EXPECT_TRUE(error.find("] expected ") != error.npos && error.find(", received ") != error.npos)
        << line << ": " << error;
    EXPECT_EQ(std::ranges::count(error, '\n'), 1) << line << ": " << error;
    EXPECT_EQ(error.find('\x1b'), error.npos) << line;
    ++tried_;
  }

  // The verb, and what it cannot do without, so that its own checks of a text are reached.
  static Values Line(const VerbSpec& verb, const OptionSpec& option) {
    const std::string model = VERBATIM_SOURCE_DIR "/models/nano-qwen35";
    Values line = {std::string(verb.name)};
    std::set<std::string_view> names;
    for (const OptionSpec* other : OptionsOf(verb.verb)) {
      names.insert(other->name);
      if (!other->positional || other == &option) continue;
      if (other->name == "MODEL" || other->name == "IN") line.push_back(model);
      if (other->name == "OUT") line.push_back("/dev/null/never/written");
      if (other->name == "FILE") line.push_back("/dev/null/never/read");
      if (other->name == "URL") line.emplace_back("http://localhost:1");
      if (other->name == "WHAT" || other->name == "ACTION") {
        line.emplace_back(other->words.front().text);
      }
    }
    if (option.name == "baseline" || option.name == "candidate") {  // two servers, no model
      line.push_back(option.name == "baseline" ? "--candidate" : "--baseline");
      line.emplace_back("http://localhost:1");
      return line;
    }
    if (names.contains("model") && !names.contains("MODEL") && option.name != "model") {
      line.insert(line.end(), {"-m", model});
    }
    if (names.contains("file") && option.name != "prompt" && option.name != "file" &&
        option.name != "ids") {
      line.insert(line.end(), {"-p", "x"});
    }
    return line;
  }

  int tried_ = 0;
};

TEST_F(BadValuesTest, EveryOptionOfEveryVerb) {
  for (const VerbSpec& verb : AllVerbs()) {
    for (const OptionSpec* option : OptionsOf(verb.verb)) {
      const std::string label = OptionLabel(*option);
      for (const std::string& bad : BadValues(*option)) {
        Values line = Line(verb, *option);
        if (!option->positional) line.push_back(label);
        line.push_back(bad);
        ExpectRefused(line, option->positional ? "" : option->name);
      }
    }
  }
  std::printf("%d command lines\n", tried_);
  EXPECT_GT(tried_, 1000);
}

TEST_F(BadValuesTest, ValuesMissingEmptyAndRepeated) {
  for (const VerbSpec& verb : AllVerbs()) {
    for (const OptionSpec* option : OptionsOf(verb.verb)) {
      if (option->positional) continue;
      const std::string label = OptionLabel(*option);
      const auto refused = [&](const Values& tail) {
        Values line = Line(verb, *option);
        line.insert(line.end(), tail.begin(), tail.end());
        ExpectRefused(line, option->name);
      };
      refused({label + "="});
      for (const std::string_view alias : option->aliases) refused({fmt::format("--{}=", alias)});
      if (option->kind == ValueKind::kFlag) {
        refused({label + "=1"});
        refused({label + "=true"});
        continue;
      }
      refused({label});
      const std::string good = GoodValue(*option);
      if (!option->repeated) refused({label, good, label, good});
      if (option->letter != 0) {
        ExpectRefused({std::string(verb.name), fmt::format("-{}={}", option->letter, good)}, "");
        ExpectRefused({std::string(verb.name), fmt::format("-{}{}", option->letter, good)}, "");
      }
    }
  }
}

}  // namespace
}  // namespace verbatim::cli
