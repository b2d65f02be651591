// Reads the compile database of this build: nothing may be compiled with flags that change
// arithmetic (numerics.md 0). Device code (.cu) is held to nvcc's names for the same things.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace verbatim {
namespace {

// What is wrong with one compiler command line; empty if nothing is.
std::string FaultOf(std::string_view file, const std::string& command) {
  std::vector<std::string> words;
  std::istringstream in(command);
  for (std::string word; in >> word;) words.push_back(word);
  constexpr std::string_view kForbidden[] = {"-ffast-math",
                                             "-Ofast",
                                             "-funsafe-math-optimizations",
                                             "-fassociative-math",
                                             "-ffinite-math-only",
                                             "-fno-signed-zeros",
                                             "-freciprocal-math",
                                             "-mrecip",
                                             "-fapprox-func",
                                             "-ffp-model=fast",
                                             "-mfpmath=387",
                                             "-fsingle-precision-constant",
                                             "--use_fast_math",
                                             "-use_fast_math",
                                             "-ftz=true",
                                             "-mdaz-ftz",
                                             "-fdenormal-fp-math=preserve-sign"};
  std::vector<std::string> required = {"-ffp-contract=off"};
  if (file.ends_with(".cu")) {
    required = {"-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"};
  }
  for (const std::string& word : words) {
    for (std::string_view flag : kForbidden) {
      if (word == flag) return word;
    }
    if (word.starts_with("-ffp-contract=") && word != "-ffp-contract=off") return word;
    if (word.starts_with("-fmad=") && word != "-fmad=false") return word;
  }
  for (const std::string& flag : required) {
    if (std::find(words.begin(), words.end(), flag) == words.end()) return "no " + flag;
  }
  return "";
}

TEST(CompileFlags, FaultsAreSeen) {
  const std::string good = "c++ -O3 -ffp-contract=off -c a.cc";
  EXPECT_EQ(FaultOf("a.cc", good), "");
  EXPECT_EQ(FaultOf("a.cc", "c++ -O3 -c a.cc"), "no -ffp-contract=off");
  EXPECT_EQ(FaultOf("a.cc", good + " -ffp-contract=fast"), "-ffp-contract=fast");
  EXPECT_EQ(FaultOf("a.cc", good + " -ffast-math"), "-ffast-math");
  EXPECT_EQ(FaultOf("a.cc", good + " -Ofast"), "-Ofast");
  EXPECT_EQ(FaultOf("a.cu", good), "no -fmad=false");
  EXPECT_EQ(FaultOf("a.cu", "nvcc -fmad=false -ftz=false -prec-div=true -prec-sqrt=true a.cu"), "");
}

TEST(CompileFlags, EveryEntryOfThisBuildIsExact) {
  std::ifstream in(VERBATIM_BINARY_DIR "/compile_commands.json");
  ASSERT_TRUE(in) << VERBATIM_BINARY_DIR << " has no compile_commands.json";
  const nlohmann::json entries = nlohmann::json::parse(in);
  int ours = 0;
  for (const nlohmann::json& entry : entries) {
    const std::string file = entry.at("file");
    EXPECT_EQ(FaultOf(file, entry.at("command")), "") << file;
    ours += file.find("src/numerics/") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(ours, 0) << "the database is not this project's";
}

}  // namespace
}  // namespace verbatim
