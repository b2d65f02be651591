// docs/numerics.md against the header: the constants that it prints, hexadecimal and decimal, are
// the ones that the code uses, each of them, and the profile has the same name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "numerics/elementary_coefficients.h"
#include "numerics/profile.h"

namespace verbatim {
namespace {

std::string Document() {
  std::ifstream in(VERBATIM_SOURCE_DIR "/docs/numerics.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::map<std::string, float> Constants() {
  using namespace elementary;  // NOLINT: all of them are wanted
  std::map<std::string, float> constants = {
      {"kExpMagic", kExpMagic},     {"kLog2E", kLog2E},
      {"kLn2Hi", kLn2Hi},           {"kLn2Lo", kLn2Lo},
      {"kExpMin", kExpMin},         {"kExpMax", kExpMax},
      {"kMinNormal", kMinNormal},   {"kLogDenormalScale", kLogDenormalScale},
      {"kLog1pLarge", kLog1pLarge}, {"kGeluLinear", kGeluLinear},
      {"kGeluCubic", kGeluCubic},
  };
  const auto add = [&](const std::string& name, const auto& array) {
    for (size_t i = 0; i < std::size(array); ++i) {
      constants[name + "[" + std::to_string(i) + "]"] = array[i];
    }
  };
  add("kExpPoly", kExpPoly);
  add("kExpm1Poly", kExpm1Poly);
  add("kLogPoly", kLogPoly);
  return constants;
}

// Rows have the form "| `name` | hexadecimal | decimal |".
TEST(NumericsDocument, PrintsTheConstantsOfTheCode) {
  std::map<std::string, float> missing = Constants();
  std::istringstream in(Document());
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `k")) continue;
    const size_t name_end = line.find('`', 3);
    const std::string name = line.substr(3, name_end - 3);
    const size_t hex_begin = line.find("| ", name_end) + 2;
    const size_t decimal_begin = line.find("| ", hex_begin) + 2;
    const auto constant = missing.find(name);
    ASSERT_NE(constant, missing.end()) << "unknown or repeated: " << line;
    EXPECT_EQ(std::strtof(line.c_str() + hex_begin, nullptr), constant->second) << line;
    EXPECT_EQ(std::strtof(line.c_str() + decimal_begin, nullptr), constant->second) << line;
    missing.erase(constant);
  }
  for (const auto& [name, value] : missing) ADD_FAILURE() << "the document lacks " << name;
}

TEST(NumericsDocument, NamesTheProfile) {
  EXPECT_EQ(std::string(kProfileName) + "-" + std::to_string(kProfileVersion), kProfileId);
  EXPECT_NE(Document().find(kProfileId), std::string::npos);
}

}  // namespace
}  // namespace verbatim
